//! A queue that is read and written in the order of memory, run by run.

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 1 << 18;
/// So many chunks are kept for later.
const SPARE: usize = 2;

/// Runs of elements in order of writing. What is read from the front is usually written again at the back, in
/// the same memory: a log takes little more than what it holds. A run lies in one piece.
#[derive(Debug)]
pub(super) struct Log<T> {
    /// The first is read.
    chunks: VecDeque<Chunk<T>>,
    /// The next run in the first chunk.
    place: usize,
    writing: Chunk<T>,
    spare: Vec<Chunk<T>>,
}

#[derive(Debug)]
struct Chunk<T> {
    elements: Box<[T]>,
    /// So many are in use.
    used: usize,
}

impl<T: Copy + Default> Chunk<T> {
    fn new(elements: usize) -> Self {
        Self {
            elements: vec![T::default(); elements].into(),
            used: 0,
        }
    }
}

impl<T: Copy + Default> Default for Log<T> {
    fn default() -> Self {
        Self {
            chunks: VecDeque::new(),
            place: 0,
            writing: Chunk::new(0),
            spare: Vec::new(),
        }
    }
}

impl<T: Copy + Default> Log<T> {
    const CHUNK: usize = CHUNK_BYTES / size_of::<T>();

    /// The next run, which has so many elements: [`get`](Self::get) has it until the next is read.
    #[inline(always)]
    pub(super) fn read(&mut self, count: usize) -> Range<usize> {
        if count > 0 && self.place == self.chunks[0].used {
            self.turn_over();
        }
        let start = self.place;
        self.place += count;
        start..self.place
    }

    /// What was read, or a part of it.
    #[inline(always)]
    pub(super) fn get(&self, range: Range<usize>) -> &[T] {
        match self.chunks.front() {
            Some(chunk) => &chunk.elements[range],
            None => &[],
        }
    }

    /// The first chunk is read.
    #[cold]
    #[inline(never)]
    fn turn_over(&mut self) {
        if let Some(mut chunk) = self.chunks.pop_front() {
            if self.spare.len() < SPARE && chunk.elements.len() == Self::CHUNK {
                chunk.used = 0;
                self.spare.push(chunk);
            }
        }
        self.place = 0;
    }

    /// Room to write so many elements. [`end`](Self::end) says how many were written.
    #[inline(always)]
    pub(super) fn room(&mut self, count: usize) -> &mut [T] {
        if self.writing.elements.len() - self.writing.used < count {
            self.begin_chunk(count);
        }
        &mut self.writing.elements[self.writing.used..]
    }

    /// The room, and what was read.
    #[inline(always)]
    pub(super) fn room_and_read(&mut self, count: usize, range: Range<usize>) -> (&mut [T], &[T]) {
        self.room(count);
        let read = match self.chunks.front() {
            Some(chunk) => &chunk.elements[range],
            None => &[],
        };
        (&mut self.writing.elements[self.writing.used..], read)
    }

    /// A run is written.
    #[inline(always)]
    pub(super) fn end(&mut self, count: usize) {
        self.writing.used += count;
    }

    #[cold]
    #[inline(never)]
    fn begin_chunk(&mut self, count: usize) {
        let chunk = match self.spare.pop() {
            Some(chunk) if count <= Self::CHUNK => chunk,
            _ => Chunk::new(count.max(Self::CHUNK)),
        };
        let full = std::mem::replace(&mut self.writing, chunk);
        if full.used > 0 {
            self.chunks.push_back(full);
        }
    }

    /// Writes the next run again.
    #[inline]
    pub(super) fn pass(&mut self, count: usize) {
        let range = self.read(count);
        let (room, run) = self.room_and_read(count, range);
        room[..count].copy_from_slice(run);
        self.end(count);
    }

    /// What was written so far can be read.
    pub(super) fn turn(&mut self) {
        self.begin_chunk(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of all lengths, longer than a chunk, too, for many rounds: a third of them passes, others grow,
    /// shrink and vanish.
    #[test]
    fn runs_come_in_the_order_of_writing() {
        let mut log = Log::<u64>::default();
        let mut lengths = [0; 50];
        for round in 0..30 {
            for (number, length) in lengths.iter_mut().enumerate() {
                if (round + number) % 3 == 0 {
                    log.pass(*length);
                    continue;
                }
                let run = log.read(*length);
                assert!(log.get(run).iter().all(|&element| element == number as u64));
                *length = (number + round * 7) * (number + round * 13) % 2_000;
                if number == 17 && round % 4 == 0 {
                    *length = CHUNK_BYTES / 8 + round;
                }
                log.room(*length)[..*length].fill(number as u64);
                log.end(*length);
            }
            log.turn();
            let chunks = log.chunks.iter().chain(&log.spare).chain([&log.writing]);
            assert!(chunks.map(|chunk| chunk.elements.len()).sum::<usize>() < 10 * CHUNK_BYTES / 8);
        }
    }
}
