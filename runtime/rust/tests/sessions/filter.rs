//! A system call filter, like those that sandboxes install, under which the kernel refuses `membarrier`.

/// From this call on, `membarrier` fails with this error in all threads of the process, including those that it starts
/// later.
pub(crate) fn refuse_membarrier(error: libc::c_int) {
    install(libc::SECCOMP_RET_ERRNO | error as u32);
    // SAFETY: the call is only a query.
    let refused = unsafe {
        libc::syscall(libc::SYS_membarrier, 0, 0, 0) == -1 && *libc::__errno_location() == error
    };
    assert!(refused, "the filter is in force");
}

/// From this call on, `membarrier` ends the process.
pub(crate) fn end_at_membarrier() {
    install(libc::SECCOMP_RET_KILL_PROCESS);
}

fn install(answer: u32) {
    const fn instruction(code: u32, value: u32, otherwise: u8) -> libc::sock_filter {
        libc::sock_filter {
            code: code as u16,
            jt: 0,
            jf: otherwise,
            k: value,
        }
    }
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    // `struct seccomp_data` begins with the number of the system call.
    let mut program = [
        instruction(load, 0, 0),
        instruction(compare, libc::SYS_membarrier as u32, 1),
        instruction(give, answer, 0),
        instruction(give, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the calls read the program, which is alive, and change only what this process may do.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_TSYNC,
                &raw const filter,
            ) == 0
    };
    assert!(installed, "the kernel accepts the filter");
}
