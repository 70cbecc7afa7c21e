package names
final class Boolean
final class Ticket
