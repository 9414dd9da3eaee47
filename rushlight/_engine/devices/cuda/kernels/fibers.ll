; The scheduler of threads that wait for each other: 1 + the block whose threads part at a barrier, else 0.

; Keeps a thread's stack at %from and goes on with the one at %to: what a call must leave as it was (System V's
; calls on x86-64) lies on the stack, but for how numbers are rounded, which no kernel changes. (The C library's
; swapcontext asks the system for the mask of signals each time.)
define internal void @switch(ptr %from, ptr %to) naked noinline {
  call void asm sideeffect "
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq", "~{memory}"()
  unreachable
}

; Where a new stack goes on: its thread is in r12.
define internal void @${name}_begin() naked noinline {
  call void asm sideeffect "
    movq %r12, %rdi
    callq *%rbx", "~{memory}"()
  unreachable
}

define internal void @${name}_fiber(ptr %thread) noinline {
  %argp = getelementptr i8, ptr %thread, i64 ${arguments}
  %args = load ptr, ptr %argp
${loads}
  call void @${name}(${given})
  %donep = getelementptr i8, ptr %thread, i64 ${done}
  store i64 1, ptr %donep
  %ownp = getelementptr i8, ptr %thread, i64 ${own}
  %own = load ptr, ptr %ownp
  %turnp = getelementptr i8, ptr %thread, i64 ${turn}
  %turn = load ptr, ptr %turnp
  call void @switch(ptr %own, ptr %turn)
  ret void
}

define i64 @${name}_run(ptr %args, i64 %blocks, i64 %threads, i64 %turned, ptr %slots, ptr %contexts,
                       ptr %stacks, ptr %lanes, ptr %shared, ptr %scheduler) {
entry:
  %last = sub i64 %threads, 1
  %back = icmp ne i64 %turned, 0
  br label %block
block:
  %b = phi i64 [0, %entry], [%b1, %next]
  %b_first = sub i64 %blocks, 1
  %b_mirror = sub i64 %b_first, %b
  %b_own = select i1 %back, i64 %b_mirror, i64 %b
  br label %prepare
prepare:
  %p = phi i64 [0, %block], [%p1, %prepare]
  %ps = mul i64 %p, ${slots}
  %s = getelementptr i8, ptr %slots, i64 %ps
  %pc = mul i64 %p, ${context}
  %c = getelementptr i8, ptr %contexts, i64 %pc
  %pk = mul i64 %p, ${stack}
  %k = getelementptr i8, ptr %stacks, i64 %pk
  %s0 = getelementptr i8, ptr %s, i64 ${tid}
  store i64 %p, ptr %s0
  %s1 = getelementptr i8, ptr %s, i64 ${ctaid}
  store i64 %b_own, ptr %s1
  %s2 = getelementptr i8, ptr %s, i64 ${ntid}
  store i64 %threads, ptr %s2
  %s3 = getelementptr i8, ptr %s, i64 ${nctaid}
  store i64 %blocks, ptr %s3
  %s4 = getelementptr i8, ptr %s, i64 ${shared}
  store ptr %shared, ptr %s4
  %s5 = getelementptr i8, ptr %s, i64 ${lanes}
  store ptr %lanes, ptr %s5
  %s6 = getelementptr i8, ptr %s, i64 ${own}
  store ptr %c, ptr %s6
  %s7 = getelementptr i8, ptr %s, i64 ${turn}
  store ptr %scheduler, ptr %s7
  %s8 = getelementptr i8, ptr %s, i64 ${done}
  store i64 0, ptr %s8
  %s9 = getelementptr i8, ptr %s, i64 ${arguments}
  store ptr %args, ptr %s9
  ; A stack as @switch leaves one: r15, r14, r13, r12, rbx, rbp, and where to go on.
  %c0 = getelementptr i8, ptr %k, i64 ${first}
  store ptr %c0, ptr %c
  %c1 = getelementptr i8, ptr %c0, i64 24
  store ptr %s, ptr %c1
  %c2 = getelementptr i8, ptr %c0, i64 32
  store ptr @${name}_fiber, ptr %c2
  %c3 = getelementptr i8, ptr %c0, i64 48
  store ptr @${name}_begin, ptr %c3
  %p1 = add i64 %p, 1
  %prepared = icmp ult i64 %p1, %threads
  br i1 %prepared, label %prepare, label %round
round:
  br label %turnof
turnof:
  %t = phi i64 [0, %round], [%t1, %after]
  %stopped = phi i64 [0, %round], [%stopped1, %after]
  %ended = phi i64 [0, %round], [%ended1, %after]
  %mirror = sub i64 %last, %t
  %me = select i1 %back, i64 %mirror, i64 %t
  %ms = mul i64 %me, ${slots}
  %m = getelementptr i8, ptr %slots, i64 %ms
  %mdone = getelementptr i8, ptr %m, i64 ${done}
  %before = load i64, ptr %mdone
  %finished = icmp ne i64 %before, 0
  br i1 %finished, label %after, label %go
go:
  %mc = mul i64 %me, ${context}
  %mcontext = getelementptr i8, ptr %contexts, i64 %mc
  call void @switch(ptr %scheduler, ptr %mcontext)
  %now = load i64, ptr %mdone
  %waits = sub i64 1, %now
  %stoppedg = add i64 %stopped, %waits
  %endedg = add i64 %ended, %now
  br label %after
after:
  %stopped1 = phi i64 [%stopped, %turnof], [%stoppedg, %go]
  %ended1 = phi i64 [%ended, %turnof], [%endedg, %go]
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %turnof, label %verdict
verdict:
  %nobody = icmp eq i64 %stopped1, 0
  br i1 %nobody, label %next, label %agree
agree:
  %some = icmp ne i64 %ended1, 0
  br i1 %some, label %torn, label %round
torn:
  %b2 = add i64 %b, 1
  ret i64 %b2
next:
  %b1 = add i64 %b, 1
  %again = icmp ult i64 %b1, %blocks
  br i1 %again, label %block, label %done
done:
  ret i64 0
}
