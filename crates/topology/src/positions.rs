//! Asking the writer for its position, once for all who want to know it at the same time.
//!
//! What must always hold: whoever asks gets a position that the writer was asked for after that. One question is in flight at a time;
//! who comes while it is waits for the next.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;
use weir_backend::Position;
use weir_backend::Replaceable;
use weir_backend::Server;
use weir_backend::monitor::{MonitorSettings, Probe};
use weir_backend::patience;
use weir_wire::Failure;

use crate::group::Group;

type Answer = Result<Arc<Position>, Failure>;

/// A worker's questions to the writer.
#[derive(Debug)]
pub struct Positions {
    group: Arc<Group>,
    account: Replaceable<MonitorSettings>,
    asking: RefCell<Option<Vec<oneshot::Sender<Answer>>>>,
    probe: RefCell<Option<(usize, Probe)>>,
}

impl Positions {
    /// Of a group's writer, asked with Weir's own account.
    pub fn new(group: Arc<Group>, account: Replaceable<MonitorSettings>) -> Rc<Positions> {
        Rc::new(Positions { group, account, asking: RefCell::default(), probe: RefCell::default() })
    }

    /// A position beyond which nothing was visible to anybody when this was called. Must be called on a `LocalSet` or local
    /// runtime. Cancel-safe: the question is asked for the others all the same.
    ///
    /// # Errors
    /// When the writer can't be asked.
    pub async fn of_writer(self: &Rc<Self>) -> Answer {
        let (tell, told) = oneshot::channel();
        let first = {
            let mut asking = self.asking.borrow_mut();
            let first = asking.is_none();
            asking.get_or_insert_default().push(tell);
            first
        };
        if first {
            tokio::task::spawn_local(self.clone().ask_while_wanted());
        }
        let writer = self.group.writer();
        told.await.unwrap_or_else(|_| Err(writer.unreachable("its position could not be asked for")))
    }

    async fn ask_while_wanted(self: Rc<Self>) {
        loop {
            // All that came in this turn of the event loop are told by one question.
            tokio::task::yield_now().await;
            let waiting = match &mut *self.asking.borrow_mut() {
                Some(waiting) => std::mem::take(waiting),
                None => return,
            };
            if waiting.is_empty() {
                *self.asking.borrow_mut() = None;
                return;
            }
            let answer = self.ask().await;
            for tell in waiting {
                // Whoever no longer wants to know has dropped its end.
                let _ = tell.send(answer.clone());
            }
        }
    }

    async fn ask(&self) -> Answer {
        let index = self.group.view().writer;
        let writer = self.group.writer();
        let kept = self.probe.borrow_mut().take().filter(|(of, _)| *of == index);
        if let Some((_, mut probe)) = kept
            && let Ok(answer) = self.within(&writer, &mut probe).await
        {
            *self.probe.borrow_mut() = Some((index, probe));
            return Ok(answer);
        }
        let mut fresh = Probe::open(&writer, &self.account.load_full()).await?;
        let answer = self.within(&writer, &mut fresh).await?;
        *self.probe.borrow_mut() = Some((index, fresh));
        Ok(answer)
    }

    async fn within(&self, writer: &Server, probe: &mut Probe) -> Answer {
        let asked = patience::within(self.account.load().timeout, probe.observe()).await;
        let observation = asked.unwrap_or_else(|| Err(writer.unreachable("it did not tell its position")))?;
        Ok(observation.visible)
    }
}
