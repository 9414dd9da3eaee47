class TracerWarning(Warning): pass
class TracingCheckError(Exception): pass
def trace(*a,**k): raise NotImplementedError
trace_module=trace
