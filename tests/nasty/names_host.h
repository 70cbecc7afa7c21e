/* What `names.proto` leaves to the program. */
struct hidden;
typedef struct hidden *handle;
