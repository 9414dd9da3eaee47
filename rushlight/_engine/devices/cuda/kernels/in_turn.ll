; The loops over blocks and threads of a kernel without barriers; when `turned`, both run backwards.
define i64 @${name}_run(ptr %args, i64 %blocks, i64 %threads, i64 %turned) {
entry:
  %thread = alloca [16 x i64], align 16
${loads}
  %ntid = getelementptr i8, ptr %thread, i64 ${ntid}
  store i64 %threads, ptr %ntid
  %nctaid = getelementptr i8, ptr %thread, i64 ${nctaid}
  store i64 %blocks, ptr %nctaid
  %tid = getelementptr i8, ptr %thread, i64 ${tid}
  %ctaid = getelementptr i8, ptr %thread, i64 ${ctaid}
  %last = sub i64 %threads, 1
  %back = icmp ne i64 %turned, 0
  br label %block
block:
  %b = phi i64 [0, %entry], [%b1, %next]
  %b_first = sub i64 %blocks, 1
  %b_mirror = sub i64 %b_first, %b
  %b_own = select i1 %back, i64 %b_mirror, i64 %b
  store i64 %b_own, ptr %ctaid
  br label %one
one:
  %t = phi i64 [0, %block], [%t1, %one]
  %mirror = sub i64 %last, %t
  %me = select i1 %back, i64 %mirror, i64 %t
  store i64 %me, ptr %tid
  call void @${name}(${given})
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %one, label %next
next:
  %b1 = add i64 %b, 1
  %again = icmp ult i64 %b1, %blocks
  br i1 %again, label %block, label %done
done:
  ret i64 0
}
