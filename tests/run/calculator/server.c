/* The server of the case: it calculates, and explains where it cannot. */
#include <inttypes.h>

#include "case.h"

static const char *const OPERATIONS[] = {
    [OPERATION_ADD] = "add",
    [OPERATION_SUBTRACT] = "subtract",
    [OPERATION_MULTIPLY] = "multiply",
    [OPERATION_DIVIDE] = "divide",
};

/* False if the result does not fit. */
static bool calculate(operation_t operation, int64_t left, int64_t right, int64_t *result)
{
    switch (operation) {
    case OPERATION_ADD: return !__builtin_add_overflow(left, right, result);
    case OPERATION_SUBTRACT: return !__builtin_sub_overflow(left, right, result);
    case OPERATION_MULTIPLY: return !__builtin_mul_overflow(left, right, result);
    case OPERATION_DIVIDE:
        if (left == INT64_MIN && right == -1) return false;
        *result = left / right;
        return true;
    }
    return false;
}

duo_status calculator_case_server(calculator_server_ready_t ready, struct transcript *transcript)
{
    for (;;) {
        calculator_ready_t wish;
        TRY(calculator_server_ready_recv(ready, &wish));
        switch (wish.tag) {
        case CALCULATOR_READY_CALCULATE: {
            operation_t operation = wish.as.calculate.operation;
            int64_t left = wish.as.calculate.left;
            int64_t right = wish.as.calculate.right;
            transcript_line(transcript, "server <- calculate(%s, %" PRId64 ", %" PRId64 ")",
                            OPERATIONS[operation], left, right);
            calculator_server_answer_t answer = wish.as.calculate.next;
            int64_t result;
            if (operation == OPERATION_DIVIDE && right == 0) {
                failure_t why = {.tag = FAILURE_DIVIDED_BY_ZERO};
                TRY(calculator_server_answer_send_failed(answer, why, &ready));
            } else if (!calculate(operation, left, right, &result)) {
                failure_t why = {.tag = FAILURE_OVERFLOW, .as.overflow.of = operation};
                TRY(calculator_server_answer_send_failed(answer, why, &ready));
            } else {
                TRY(calculator_server_answer_send_result(answer, result, &ready));
            }
            break;
        }
        case CALCULATOR_READY_NEGATE: {
            int64_t n = wish.as.negate.value;
            transcript_line(transcript, "server <- negate(%" PRId64 ")", n);
            TRY(calculator_server_answer_send_result(wish.as.negate.next, -n, &ready));
            break;
        }
        case CALCULATOR_READY_QUIT:
            transcript_line(transcript, "server <- quit");
            return DUO_OK;
        }
    }
}
