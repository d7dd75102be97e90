/** A task exceeded a limit, and its process was killed. */
export class ChildLimitExceeded extends Error {
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory') {
    super(`The task exceeded its limit of ${limit}.`);
    this.name = 'ChildLimitExceeded';
    this.limit = limit;
  }
}

/** The process ended for another reason during a task. */
export class ChildLost extends Error {
  /** It crashed by itself, rather than being killed by others. */
  readonly crashed: boolean;

  constructor(crashed: boolean) {
    super('The process of the task ended before its result.');
    this.name = 'ChildLost';
    this.crashed = crashed;
  }
}

/** A conversation with a process about one task. */
export interface ChildTask<Message, Result> {
  request: object;
  /** Follow the request on the standard input. */
  bytes: Uint8Array;
  /** Takes a message of the process; the result is the last. A process that is spent gets no other task. */
  receive(message: Message): TaskEnd<Result> | null;
}

export interface TaskEnd<Result> {
  result: Result;
  isSpent?: boolean;
}
