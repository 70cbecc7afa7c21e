/** The types that the difficult names of this folder and of `tests/names` expect from the program. */
package names {
  final class Boolean
  final class Ticket
}

package deep.package_ {
  final class Buffer
  final class Image
  final class Picture
}
