/* The types that `names.proto` expects from the program. */
struct hidden;
typedef struct hidden *handle;
