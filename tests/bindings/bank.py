"""A session of `bank` from Python, both sides of it: `bank.py LIBRARY`.

The library contains the runtime, the generated code, and one file that was compiled with DUO_SYMBOLS. The classes here
are the structs of bank.h that the session uses.
"""

import ctypes
import sys

OK, CLOSED, USED, FULL, EMPTY = range(5)


class Endpoint(ctypes.Structure):
    """Every endpoint type wraps one."""

    _fields_ = [("session", ctypes.c_void_p), ("turn", ctypes.c_uint64)]


class Str(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    @staticmethod
    def of(text):
        return Str(text.encode(), len(text.encode()))

    def text(self):
        return ctypes.string_at(self.data, self.size).decode()


class Message(ctypes.Structure):
    """The first members of every received message."""

    _fields_ = [("tag", ctypes.c_uint), ("block", ctypes.c_void_p)]


class Login(Message):
    _fields_ = [("username", Str), ("password", Str), ("next", Endpoint)]


class LoginResponse(Message):
    _fields_ = [("next", Endpoint)]


class Money(Message):
    """A deposit, a withdrawal, or the money that was paid out."""

    _fields_ = [("money", ctypes.c_double), ("next", Endpoint)]


def check(condition):
    if not condition:
        raise AssertionError


def function(library, name, *parameters):
    found = getattr(library, name)
    found.restype = ctypes.c_int
    found.argtypes = parameters
    return found


def pointer(kind):
    return ctypes.POINTER(kind)


def main(path):
    library = ctypes.CDLL(path)
    text = library.duo_status_text
    text.restype = ctypes.c_char_p

    init = function(library, "bank_init", pointer(Endpoint), pointer(Endpoint))
    send_login = function(library, "bank_client_login_send_login", Endpoint, Str, Str, pointer(Endpoint))
    recv_login = function(library, "bank_server_login_recv", Endpoint, pointer(Login))
    free_login = library.bank_login_free
    free_login.restype = None
    send_ok = function(library, "bank_server_login_response_send_ok", Endpoint, pointer(Endpoint))
    recv_response = function(library, "bank_client_login_response_recv", Endpoint, pointer(LoginResponse))
    send_deposit = function(library, "bank_client_connected_send_deposit", Endpoint, ctypes.c_double, pointer(Endpoint))
    send_withdrawal = function(
        library, "bank_client_connected_send_withdrawal", Endpoint, ctypes.c_double, pointer(Endpoint)
    )
    try_recv = function(library, "bank_server_connected_try_recv", Endpoint, pointer(Money))
    send_money = function(
        library, "bank_server_withdrawal_response_send_money", Endpoint, ctypes.c_double, pointer(Endpoint)
    )
    recv_money = function(library, "bank_client_withdrawal_response_recv", Endpoint, pointer(Money))
    close = function(library, "bank_client_connected_close", Endpoint)

    server, client = Endpoint(), Endpoint()
    waiting, serving, shopping = Endpoint(), Endpoint(), Endpoint()
    check(init(server, client) == OK)
    check(send_login(client, Str.of("holk"), Str.of("søren"), waiting) == OK)
    # The endpoint was used.
    check(send_login(client, Str.of("holk"), Str.of("1234"), waiting) == USED)
    asked = Login()
    check(recv_login(server, asked) == OK)
    print(asked.username.text(), "logs in with", asked.password.text())
    check(send_ok(asked.next, serving) == OK)
    free_login(ctypes.byref(asked))

    answer = LoginResponse()
    check(recv_response(waiting, answer) == OK)
    check(send_deposit(answer.next, 100.5, shopping) == OK)
    check(send_withdrawal(shopping, 50.25, waiting) == OK)
    money = Money()
    check(try_recv(serving, money) == OK)
    print("deposit", money.money)
    check(try_recv(money.next, money) == OK)
    print("withdrawal", money.money)
    check(send_money(money.next, money.money, serving) == OK)
    check(recv_money(waiting, money) == OK)
    print("money", money.money)
    shopping = money.next
    check(try_recv(serving, money) == EMPTY)
    check(close(shopping) == OK)
    status = try_recv(serving, money)
    check(status == CLOSED)
    print(text(status).decode())


main(sys.argv[1])
