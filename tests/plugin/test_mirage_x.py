import time, json
from .mirage_lab import *
def test_x(project, endpoint):
    use_cases(project, "test_states")
    endpoint.script = playing(lambda body: NOTHING)
    for w in (0,):
        t=time.time()
        r = run(project, "--bench-axis", "length=paper", "--bench-limit", "2", workers=w)
        print(r.stdout.str()); print(time.time()-t)
    for row in rows_of(project): print(row["arm.state"], row["scores.depth"], row["scores.active"], row.get("scores.eit_capture"))
    for b in endpoint.bodies: print(is_summary(b), is_capture(b), is_probe(b), reference_count(b["messages"]), len(b["messages"]))
    for w in (2,):
        t=time.time()
        r = run(project, "--bench-limit", "2", workers=w)
        print(r.stdout.str()[-300:]); print(time.time()-t)
    for row in rows_of(project): print(json.dumps(row, indent=0)); break
    for b in endpoint.bodies[-8:]: print(is_summary(b), is_capture(b), is_probe(b), reference_count(b["messages"]), len(b["messages"]), b["model"], {k:v for k,v in b.items() if k not in ("messages","tools")})
    assert 0
