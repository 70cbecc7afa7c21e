/*
 * What a Cortex-M needs before `main`: its vector table, and the memory that C expects. Input and output use
 * semihosting, which `--specs=rdimon.specs` links.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Defined by device.ld. */
extern char stack_top[], data_start[], data_end[], data_image[], bss_start[], bss_end[];

/* Defined by newlib and librdimon. */
void __libc_init_array(void);
void initialise_monitor_handles(void);

int main(void);
void reset(void);
void fault(void);
void tick(void);

/* In place of constructors, which C does not have; newlib calls both. */
void _init(void);
void _fini(void);

void _init(void)
{
}

void _fini(void)
{
}

#ifdef SILENT
/* Ends the emulator without the C library, whose `exit` needs an allocator: semihosting's SYS_EXIT, with success or an error. */
static void end(int status)
{
    register unsigned call __asm__("r0") = 0x18;
    register unsigned reason __asm__("r1") = status == 0 ? 0x20026 : 0x20023;
    __asm__ volatile("bkpt 0xab" : : "r"(call), "r"(reason) : "memory");
}
#endif

void reset(void)
{
    memcpy(data_start, data_image, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
#ifdef SILENT
    end(main());
#else
    initialise_monitor_handles();
    __libc_init_array();
    exit(main());
#endif
}

/* Ends the emulator, with a status that is not 0. */
void fault(void)
{
#ifdef SILENT
    end(1);
#else
    _Exit(1);
#endif
}

/* The timer's interrupt, in programs that have one. */
__attribute__((weak)) void tick(void)
{
    fault();
}

typedef struct vector_table {
    void *stack;
    void (*handlers[15])(void);
} vector_table;

extern const vector_table vectors;

__attribute__((section(".vectors"), used)) const vector_table vectors = {
    stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, tick},
};
