//! Bulk work that gets the disk only when nobody else wants it.

/// Threads at idle I/O priority; `None` where they cannot be had, and then the work runs as usual.
pub(crate) fn pool() -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().start_handler(|_| lower_priority()).build().ok()
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    // From linux/ioprio.h: the calling thread, class "idle". The kernel keeps I/O priorities per thread.
    const WHO_PROCESS: libc::c_int = 1;
    const CALLER: libc::c_int = 0;
    const CLASS_IDLE: libc::c_int = 3 << 13;
    // SAFETY: the call takes three integers and touches no memory of ours; a refusal changes nothing.
    unsafe {
        libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, CALLER, CLASS_IDLE);
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_threads_are_idle_and_this_one_is_not() {
        let class = || {
            // SAFETY: two integers in, one out.
            let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) };
            priority >> 13
        };
        assert_eq!(pool().unwrap().install(class), 3);
        assert_ne!(class(), 3);
    }
}
