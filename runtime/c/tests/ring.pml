/*
 * A model of runs within a process, for SPIN: one sender and one receiver, messages that are stored, one message in a
 * line, and a ring of two lines, each of them a segment. It covers waking a receiver (ring.h (b), barrier.c) and
 * waiting for free slots (notify.c). It leaves out what those steps share with no other: several messages in a line,
 * messages that are swapped, notifiers, and disconnecting.
 *
 *     spin -a ring.pml && gcc -DSAFETY -o pan pan.c && ./pan
 *
 * The processor is x86: a store of the sender becomes visible some time later, in order, and read-modify-writes wait
 * for that. A wake-up that is lost is an invalid end state: the side sleeps and nobody is left to wake it.
 */
#define MESSAGES 6
#define LINES 2

/* The word of a line: the number of the message in it, plus 1. */
byte word[LINES];
/* `flags` of the receiver: WAITING for this message, plus 1; 0 if it says nothing. */
byte flags;
/* `credit`: how many messages the receiver has reported as read, and CREDIT_WAITS. */
byte reported;
bit credit_waits;
/* Sleeping in the kernel: see `duo_wait`. */
bit receiver_sleeps, sender_sleeps;
/* Messages whose words the sender has stored and no other thread can see yet. */
chan store_buffer = [LINES] of { byte };

/* Stores become visible at any time. */
active proctype processor()
{
    byte visible;
end:
    do
    :: atomic { store_buffer?visible -> word[visible % LINES] = visible + 1 }
    od
}

/* All stores of the sender are visible at one moment: before its read-modify-writes, and in `duo_barrier`. */
inline drain(stored)
{
    do
    :: atomic { nempty(store_buffer) -> store_buffer?stored; word[stored % LINES] = stored + 1 }
    :: atomic { empty(store_buffer) -> break }
    od
}

active proctype sender()
{
    byte at, seen, stored;
    do
    :: at == MESSAGES -> break
    :: else ->
        /* link/session.c, `send_within`: needs_credit, which the first lap does not. */
        do
        :: at < LINES -> break
        :: else ->
            /* link/notify.c, `duo_check_credit`: emptied_enough. */
            seen = reported;
            if
            :: seen + LINES > at -> break
            :: else
            fi;
            /* link/notify.c, `duo_announce_wait`: a compare-and-swap of the credit that was read. */
            drain(stored);
            atomic {
                if
                :: reported == seen -> credit_waits = 1
                :: else -> seen = MESSAGES
                fi
            };
            if
            :: seen == MESSAGES
            :: else ->
                /* link/park.c, `duo_await_credit`: duo_wait compares the credit and sleeps. */
                atomic {
                    if
                    :: reported == seen && credit_waits -> sender_sleeps = 1
                    :: else
                    fi
                };
                sender_sleeps == 0
            fi
        od;
        /* pipe.h, `duo_publish_word`: the store; nothing waits for it. */
        store_buffer!at;
        /* pipe.h, `duo_publish_word`: the load of the flags. */
        if
        :: flags == at + 1 ->
            /* link/session.c, `answer_in_flags`: a compare-and-swap, and `duo_wake`. */
            drain(stored);
            atomic {
                if
                :: flags == at + 1 -> flags = 0; receiver_sleeps = 0
                :: else
                fi
            }
        :: else
        fi;
        at++
    od
}

active proctype receiver()
{
    byte at, stored;
    bit waits;
    do
    :: at == MESSAGES -> break
    :: else ->
        if
        /* link/session.c, `recv_within`: the word is there. */
        :: word[at % LINES] == at + 1
        :: else ->
            /* link/park.c, `sleep_in_flags`: a compare-and-swap sets WAITING. */
            atomic { assert(flags == 0); flags = at + 1 };
            /* link/park.c, `sleep_in_flags`: duo_barrier. */
            drain(stored); /* barrier */
            /* link/park.c, `sleep_in_flags`: check again, and sleep while the flags are what was set. */
            do
            :: word[at % LINES] == at + 1 -> break
            :: flags != at + 1 -> break
            :: else ->
                atomic {
                    if
                    :: flags == at + 1 -> receiver_sleeps = 1
                    :: else
                    fi
                };
                receiver_sleeps == 0
            od;
            /* link/park.c, `sleep_in_flags`: a compare-and-swap takes WAITING back, unless the sender has. */
            atomic {
                if
                :: flags == at + 1 -> flags = 0
                :: else
                fi
            };
            /* link/park.c, `sleep_in_flags`: the sender has cleared the flag after its message. */
            word[at % LINES] == at + 1
        fi;
        /* The slot has this message and no later one: the sender had no credit for that. */
        assert(word[at % LINES] == at + 1);
        /* link/notify.c, `report`: a read-modify-write, and `duo_wake` if the sender waits. */
        atomic {
            reported = at + 1;
            if
            :: credit_waits -> credit_waits = 0; sender_sleeps = 0
            :: else
            fi
        };
        at++
    od
}
