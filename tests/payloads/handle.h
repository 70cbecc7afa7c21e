/* A host value that counts how many of its kind exist. */
#ifndef HANDLE_H
#define HANDLE_H

struct handle;

struct handle *handle_new(void);
void handle_drop(struct handle *handle);
int handles_alive(void);

#endif
