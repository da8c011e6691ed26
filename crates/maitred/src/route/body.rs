//! A response body that holds something until it ends.
//!
//! When does a body end? The server reads frames until one of these says that no more will come: `None`, the body's own
//! `is_end_stream`, or the length that was announced. After that it drops the body without asking again. So all three
//! count as the end; a body that is dropped before is one whose client has gone.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    BoxError, Error,
    body::{Body, HttpBody},
    http::{Response, header::CONTENT_LENGTH},
};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::entry::Pass;

struct HeldBody {
    body: Body,
    pass: Option<Pass>,
    /// Bytes that are still to come, where that was announced.
    left: Option<u64>,
}

/// The response, with its body holding the pass.
pub(super) fn held<B>(response: Response<B>, pass: Pass) -> Response<Body>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let announced = response.headers().get(CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse().ok());
    response.map(|body| {
        let body = Body::new(body);
        let left = announced.or_else(|| body.size_hint().exact());
        if body.is_end_stream() || left == Some(0) {
            pass.end();
            return body;
        }
        Body::new(HeldBody { body, pass: Some(pass), left })
    })
}

impl HeldBody {
    fn saw(&mut self, frame: &Option<Result<Frame<Bytes>, Error>>) {
        let data = match frame {
            None => return self.pass.take().into_iter().for_each(Pass::end),
            Some(Err(_)) => return self.pass.take().into_iter().for_each(Pass::fail),
            Some(Ok(frame)) => frame.data_ref(),
        };
        let length = data.map_or(0, |data| data.len() as u64);
        self.left = self.left.map(|left| left.saturating_sub(length));
        if self.body.is_end_stream() || self.left == Some(0) {
            self.pass.take().into_iter().for_each(Pass::end);
        }
    }
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(frame) = &polled {
            self.saw(frame);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
