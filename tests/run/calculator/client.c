/* The client of the case: four sums, of which two fail, and a negation. */
#include <inttypes.h>

#include "case.h"

static const char *operation(operation_t operation)
{
    switch (operation) {
    case OPERATION_ADD: return "add";
    case OPERATION_SUBTRACT: return "subtract";
    case OPERATION_MULTIPLY: return "multiply";
    case OPERATION_DIVIDE: return "divide";
    }
    return "no operation";
}

static duo_status expect_result(calculator_client_answer_t waiting, struct transcript *transcript,
                                calculator_client_ready_t *next)
{
    calculator_answer_t answer;
    TRY(calculator_client_answer_recv(waiting, &answer));
    EXPECT(answer, CALCULATOR_ANSWER_RESULT);
    transcript_line(transcript, "client <- result(%" PRId64 ")", answer.as.result.value);
    *next = answer.as.result.next;
    return DUO_OK;
}

static duo_status expect_failure(calculator_client_answer_t waiting, struct transcript *transcript,
                                 calculator_client_ready_t *next)
{
    calculator_answer_t answer;
    TRY(calculator_client_answer_recv(waiting, &answer));
    EXPECT(answer, CALCULATOR_ANSWER_FAILED);
    failure_t why = answer.as.failed.failure;
    switch (why.tag) {
    case FAILURE_DIVIDED_BY_ZERO:
        transcript_line(transcript, "client <- failed(divided_by_zero)");
        break;
    case FAILURE_OVERFLOW:
        transcript_line(transcript, "client <- failed(overflow(%s))", operation(why.as.overflow.of));
        break;
    }
    *next = answer.as.failed.next;
    return DUO_OK;
}

duo_status calculator_case_client(calculator_client_ready_t ready, struct transcript *transcript)
{
    calculator_client_answer_t waiting;
    TRY(calculator_client_ready_send_calculate(ready, OPERATION_ADD, 40, 2, &waiting));
    TRY(expect_result(waiting, transcript, &ready));
    TRY(calculator_client_ready_send_calculate(ready, OPERATION_DIVIDE, -7, 2, &waiting));
    TRY(expect_result(waiting, transcript, &ready));
    TRY(calculator_client_ready_send_calculate(ready, OPERATION_DIVIDE, 1, 0, &waiting));
    TRY(expect_failure(waiting, transcript, &ready));
    TRY(calculator_client_ready_send_calculate(ready, OPERATION_MULTIPLY, INT64_MAX, 2, &waiting));
    TRY(expect_failure(waiting, transcript, &ready));
    TRY(calculator_client_ready_send_negate(ready, 42, &waiting));
    TRY(expect_result(waiting, transcript, &ready));
    return calculator_client_ready_send_quit(ready);
}
