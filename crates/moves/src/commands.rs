//! What users say to a move.
//!
//! What must always hold: a command changes the record, and the move's task does what the record says.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_catalog::{Move, MovePhase};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::moment;
use crate::mover::{Mover, no_such};

impl Mover {
    /// Rows are copied no further, and nothing cuts over, until it is resumed.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it has ended.
    pub async fn pause(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.tell(id, |known| {
            in_progress(known)?;
            known.paused = true;
            Ok(())
        })
        .await
    }

    /// It goes on, also after an error.
    ///
    /// # Errors
    /// As [`Mover::pause`].
    pub async fn resume(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.tell(id, |known| {
            in_progress(known)?;
            (known.paused, known.error) = (false, None);
            Ok(())
        })
        .await
    }

    /// It is given up before its cutover, and nothing is left of it.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it has cut over.
    pub async fn cancel(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.tell(id, |known| match known.phase {
            MovePhase::Prepare | MovePhase::Copy | MovePhase::Follow | MovePhase::Cancel => {
                known.phase = MovePhase::Cancel;
                (known.paused, known.awaited) = (false, false);
                Ok(())
            }
            MovePhase::Reverse => Err(refused(known, "it has cut over; WEIR MOVE UNDO takes it back")),
            _ => Err(refused(known, "it can't be cancelled now")),
        })
        .await
    }

    /// It may cut over as soon as it can.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it has cut over.
    pub async fn cut_over_now(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.cut_over(id, None).await
    }

    /// It may cut over as soon as it can after a time, which is read in a time zone if it has no offset.
    ///
    /// # Errors
    /// As [`Mover::cut_over_now`]; 1525 for what is not a time; 1210 when it is in the past, or has no offset and there is no zone.
    pub async fn cut_over_at(self: &Arc<Self>, id: u64, time: &str, zone: Option<&str>) -> Result<(), Failure> {
        let at = moment::read(&self.sharding, time, zone).await?;
        if at <= moment::now() {
            let message = format!("Incorrect arguments to WEIR: {time} ({} UTC) is in the past", moment::utc(at));
            return Err(Failure::client(codes::ER_WRONG_ARGUMENTS, message));
        }
        self.cut_over(id, Some(at)).await
    }

    async fn cut_over(self: &Arc<Self>, id: u64, at: Option<u64>) -> Result<(), Failure> {
        self.tell(id, move |known| match known.phase {
            MovePhase::Prepare | MovePhase::Copy | MovePhase::Follow => {
                (known.automatic, known.cut_over_at) = (true, at);
                (known.paused, known.error) = (false, None);
                Ok(())
            }
            _ => Err(refused(known, "it has cut over, or has ended")),
        })
        .await
    }

    /// The old tables are dropped: there is no way back.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it has not cut over.
    pub async fn finish(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.tell(id, |known| match known.phase {
            // An undo that an error holds up may be one that can't be.
            MovePhase::Reverse if !known.undo || known.error.is_some() => {
                known.phase = MovePhase::Finish;
                (known.paused, known.error, known.undo) = (false, None, false);
                Ok(())
            }
            MovePhase::Finish | MovePhase::Finished => Ok(()),
            MovePhase::Reverse => Err(refused(known, "it is being undone")),
            _ => Err(refused(known, "it has not cut over; WEIR MOVE CANCEL gives it up")),
        })
        .await
    }

    /// The old placement comes back, with all that was written since.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it has not cut over.
    pub async fn undo(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        self.tell(id, |known| match known.phase {
            MovePhase::Reverse => {
                known.undo = true;
                (known.paused, known.error) = (false, None);
                Ok(())
            }
            MovePhase::RenameBack | MovePhase::CancelUndone | MovePhase::Undone => Ok(()),
            MovePhase::Finish | MovePhase::Finished => Err(refused(known, "it is finished: begin another move")),
            _ => Err(refused(known, "it has not cut over; WEIR MOVE CANCEL gives it up")),
        })
        .await
    }

    /// Bounds the rows that are copied per second; 0: no bound.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it has ended.
    pub async fn throttle(self: &Arc<Self>, id: u64, rows: u64) -> Result<(), Failure> {
        self.tell(id, move |known| {
            in_progress(known)?;
            known.throttle = rows;
            Ok(())
        })
        .await
    }

    /// Both sides are compared once more; SHOW MOVES tells what came of it.
    ///
    /// # Errors
    /// 1105 when there is no such move, or it does not follow changes.
    pub fn verify(self: &Arc<Self>, id: u64) -> Result<(), Failure> {
        let catalog = self.sharding.catalog();
        let known = catalog.move_by_id(id).ok_or_else(|| no_such(id))?;
        match (known.phase, self.running(id)) {
            (MovePhase::Follow | MovePhase::Reverse, Some(running)) => {
                running.compare.store(true, Ordering::Relaxed);
                self.look();
                Ok(())
            }
            (MovePhase::Prepare | MovePhase::Copy, _) => {
                Err(refused(known, "it compares by itself when all rows are copied"))
            }
            _ => Err(refused(known, "there are no longer two sides")),
        }
    }

    async fn tell(
        self: &Arc<Self>,
        id: u64,
        change: impl FnOnce(&mut Move) -> Result<(), Failure> + Send + 'static,
    ) -> Result<(), Failure> {
        self.change_move(id, change).await?;
        // Nobody's statements are looked at for a cutover that is far away.
        if let Ok(_turn) = self.cutting.try_lock() {
            self.settle_gate();
        }
        Ok(())
    }
}

fn in_progress(known: &Move) -> Result<(), Failure> {
    if known.phase.has_ended() { Err(refused(known, "it has ended")) } else { Ok(()) }
}

fn refused(known: &Move, why: &str) -> Failure {
    let message = format!("Move {} of {} is {}: {why}", known.id, known.names(), known.phase.name());
    Failure::client(codes::ER_UNKNOWN_ERROR, message)
}
