/* A filter for system calls, as installed by sandboxes, under which the kernel refuses `membarrier`. */
#ifndef REFUSE_H
#define REFUSE_H

/* From here on the call fails with this error in all threads of the process, and in those that it starts. */
void refuse_membarrier(int error);

/* From here on the call ends the process. */
void end_at_membarrier(void);

#endif
