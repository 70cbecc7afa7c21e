//! A withdrawal with tonic: as a call of its own, and as two messages of one bidirectional stream. The service is what `tonic-prost-build`
//! writes for it, except that compression is left out.

use super::{ANSWERS, ends, socket};
use crate::harness::{Meter, Processors};
use crate::machine::Cost;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt, once, pending};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codegen::BoxFuture;
use tonic::server::{NamedService, StreamingService, UnaryService};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// `message Amount { double amount = 1; }`, which takes 9 bytes, like a withdrawal of ours.
#[derive(Clone, PartialEq, prost::Message)]
struct Amount {
    #[prost(double, tag = "1")]
    amount: f64,
}

const CALL: &str = "/bench.Bank/Withdraw";
const STREAM: &str = "/bench.Bank/Withdrawals";
/// How many messages a stream holds that are not yet written: its user waits for each answer, so it needs one.
const AHEAD: usize = 1;

/// `service Bank { rpc Withdraw(Amount) returns (Amount); rpc Withdrawals(stream Amount) returns (stream Amount); }`
#[derive(Clone)]
struct Bank;

impl NamedService for Bank {
    const NAME: &'static str = "bench.Bank";
}

impl UnaryService<Amount> for Bank {
    type Response = Amount;
    type Future = Ready<Result<Response<Amount>, Status>>;

    fn call(&mut self, request: Request<Amount>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl StreamingService<Amount> for Bank {
    type Response = Amount;
    type ResponseStream = Pin<Box<dyn Stream<Item = Result<Amount, Status>> + Send>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<Amount>>) -> Self::Future {
        ready(Ok(Response::new(Box::pin(request.into_inner()))))
    }
}

impl Service<http::Request<Body>> for Bank {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let is_stream = request.uri().path() == STREAM;
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Amount, Amount>::default());
            Ok(match is_stream {
                true => grpc.streaming(Bank, request).await,
                false => grpc.unary(Bank, request).await,
            })
        })
    }
}

/// Serves one connection until the customer is done.
async fn serve(end: UnixStream, done: oneshot::Receiver<()>) {
    // tonic ends when no more connections can arrive.
    let incoming = once(Ok::<_, std::io::Error>(socket(end))).chain(pending());
    let serving = Server::builder().add_service(Bank);
    let ended = serving.serve_with_incoming_shutdown(incoming, async {
        let _sent_or_dropped = done.await;
    });
    ended.await.expect("the socket works");
}

/// A client with one connection.
async fn connect(end: UnixStream) -> Grpc<Channel> {
    let end = Mutex::new(Some(end));
    // The address is only for the headers.
    let endpoint = Endpoint::from_static("http://bench");
    let connector = service_fn(move |_| {
        let end = end.lock().expect("no thread panics").take();
        let end = end.ok_or_else(|| std::io::Error::other("there is one connection"));
        ready(end.map(|end| TokioIo::new(socket(end))))
    });
    let channel = endpoint.connect_with_connector(connector).await;
    Grpc::new(channel.expect(ANSWERS))
}

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("the system has what tokio needs")
}

/// Customer and bank on a thread each, with a runtime each, on one processor.
fn measured<F: Future<Output = Cost>>(customer: impl FnOnce(Grpc<Channel>) -> F + Send) -> Cost {
    let [left, right] = ends();
    let (done, is_done) = oneshot::channel();
    let asking = move || {
        let cost = runtime().block_on(async { customer(connect(left).await).await });
        drop(done);
        cost
    };
    Processors::One.run(asking, move || runtime().block_on(serve(right, is_done)))
}

pub fn calls(count: u64) -> Cost {
    measured(async |mut client| {
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            client.ready().await.expect(ANSWERS);
            let (request, codec) = (Request::new(Amount { amount }), ProstCodec::default());
            let path = http::uri::PathAndQuery::from_static(CALL);
            let answer = client.unary(request, path, codec).await;
            let answer: Response<Amount> = answer.expect(ANSWERS);
            meter.back(answer.into_inner().amount);
        }
        meter.cost()
    })
}

pub fn stream(count: u64) -> Cost {
    measured(async |mut client| {
        let (sender, messages) = mpsc::channel(AHEAD);
        client.ready().await.expect(ANSWERS);
        let request = Request::new(ReceiverStream::new(messages));
        let path = http::uri::PathAndQuery::from_static(STREAM);
        let answers = client.streaming(request, path, ProstCodec::default()).await;
        let mut answers: Streaming<Amount> = answers.expect(ANSWERS).into_inner();
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            sender.send(Amount { amount }).await.expect(ANSWERS);
            let answer = answers.message().await.expect(ANSWERS);
            meter.back(answer.expect(ANSWERS).amount);
        }
        meter.cost()
    })
}
