package duologue;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import duologue.protocols.*;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/**
 * The static methods of {@link Duologue}, as Java programs call them. Only the bodies of methods name nested types: the Scala
 * compiler, which reads this file too, does not know them by their names in Java.
 */
public final class JavaSuite {
    private static final Duration LONG = Duration.ofHours(1);
    private static final Duration SHORT = Duration.ofMillis(20);
    /** More than fits into nanoseconds. */
    private static final Duration LONGEST = Duration.ofSeconds(Long.MAX_VALUE);

    @Test
    public void nothingHasArrivedUntilItIsSent() {
        var ends = stream.<String>init(0);
        var reader = ends._1();
        var writer = ends._2();
        assertEquals(Optional.empty(), Duologue.tryRecv(reader));
        assertEquals(Optional.empty(), Duologue.recvWithin(reader, Duration.ofSeconds(-1)));
        var next = writer.send("first");
        Duologue.flush(next);
        var first = (stream$Stream$Send<String>) Duologue.tryRecv(reader).orElseThrow();
        assertEquals("first", first.value());
        assertThrows(EndpointUsed.class, () -> Duologue.tryRecv(reader));
        Duologue.abandon(next.send("second"));
        assertTrue(Duologue.tryRecv(first.next()).isPresent());
    }

    @Test
    public void aMessageOfTheFuture() throws Exception {
        var sides = protocols.bank.init();
        var server = sides._1();
        var client = sides._2();
        CompletableFuture<protocols.bank$Login$Login> coming = Duologue.recvAsync(server).toCompletableFuture();
        assertFalse(coming.isDone());
        var response = client.login("holk", "1234");
        var login = coming.get(1, TimeUnit.MINUTES);
        assertEquals("holk", login.username());
        Duologue.abandon(login.next().ok());
        assertTrue(Duologue.recvWithin(response, LONGEST).isPresent());
    }

    @Test
    public void aSenderWaitsForSpaceInTime() throws Exception {
        var ends = stream.<String>init(0);
        var reader = ends._1();
        var writer = ends._2();
        var full = writer;
        for (var next = Optional.of(full); next.isPresent(); next = Duologue.trySend(full, to -> to.send("more"))) full = next.get();
        assertEquals(Optional.empty(), Duologue.sendWithin(full, SHORT, to -> to.send("late")));
        var sending = Duologue.sendAsync(full, ForkJoinPool.commonPool(), to -> to.send("last")).toCompletableFuture();
        var values = 0;
        var left = reader;
        String value = "";
        while (!value.equals("last")) {
            var message = (stream$Stream$Send<String>) Duologue.recvWithin(left, LONG).orElseThrow();
            value = message.value();
            left = message.next();
            values++;
        }
        assertTrue(values > 1);
        var next = Duologue.sendWithin(sending.get(1, TimeUnit.MINUTES), LONG, to -> to.send("again")).orElseThrow();
        Duologue.abandon(left);
        assertThrows(SessionClosed.class, () -> Duologue.sendWithin(next, LONG, to -> to.send("closed")));
    }

    @Test
    public void aDialogueEndsInTime() {
        var sides = protocols.bank.init();
        var server = sides._1();
        var client = sides._2();
        var response = Duologue.within(client, LONG, to -> to.login("holk", "1234")).orElseThrow();
        var account = server.recv().next().ok();
        var money = Duologue.within(response, SHORT, from -> ((protocols.bank$LoginResponse$Ok) from.recv()).next().withdrawal(1.0).recv());
        assertEquals(Optional.empty(), money);
        var withdrawal = (protocols.bank$Connected$Withdrawal) account.recv();
        assertEquals(1.0, withdrawal.amount(), 0.0);
        assertThrows(SessionClosed.class, () -> withdrawal.next().money(1.0).recv());
    }

    @Test
    public void aSessionIsClosedAfterATimeUnlessItEndsBefore() throws Exception {
        var sides = protocols.bank.init();
        var server = sides._1();
        var client = sides._2();
        var ends = stream.<String>init(0);
        var reader = ends._1();
        var writer = ends._2();
        AutoCloseable limit = Duologue.abandonAfter(client, SHORT);
        assertThrows(SessionClosed.class, server::recv);
        limit.close();
        limit = Duologue.abandonAfter(writer, LONGEST);
        limit.close();
        assertTrue(Duologue.recvWithin(reader, Duration.ZERO).isEmpty());
        Duologue.abandon(writer.send("open"));
        assertTrue(Duologue.tryRecv(reader).isPresent());
    }

    @Test
    public void bytesAreCopied() {
        var array = new byte[] {1, -2};
        var bytes = Duologue.bytes(array);
        array[0] = 9;
        assertEquals(2, bytes.length());
        assertEquals((byte) 1, bytes.apply(0));
        assertEquals((byte) -2, bytes.apply(1));
    }
}
