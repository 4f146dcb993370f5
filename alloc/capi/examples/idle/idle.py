import threading

data = {f"key {i}": f"v{i}" * 40 for i in range(300_000)}
keep = [data[f"key {i}"] for i in range(0, 300_000, 300)]
del data
print("ready", len(keep), flush=True)
threading.Event().wait()
