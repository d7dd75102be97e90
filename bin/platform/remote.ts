import { CommanderError, type Command } from 'commander';
import { connect, type Client, type Connection } from './connect.ts';

/** A command that is one call of the gateway: its request, and how the answer is shown. */
export interface Remote<Options, Result> {
  call(client: Client, options: Options, argument: string): Promise<Result>;
  show(result: Result): string;
  /** Where the answer goes on, apart from it: `show` prints data that programs read. */
  next?: (result: Result) => string | null;
  /** The exit code is 1 after an answer that is a failure. */
  isFailure?: (result: Result) => boolean;
}

/** Adds `--json` and runs the call when the command is given. */
export function remote<Options, Result>(command: Command, spec: Remote<Options, Result>): void {
  command.option('--json', 'print JSON').action(async () => {
    const options = command.optsWithGlobals<Options & Connection & { json?: boolean }>();
    const result = await spec.call(connect(options), options, command.args[0] ?? '');
    const text = options.json === true ? JSON.stringify(result) : spec.show(result);
    const output = command.configureOutput();
    if (text !== '') {
      output.writeOut?.(`${text}\n`);
    }
    const next = options.json === true ? null : spec.next?.(result);
    if (next != null) {
      output.writeErr?.(`${next}\n`);
    }
    if (spec.isFailure?.(result) === true) {
      throw new CommanderError(1, 'platform.failure', '');
    }
  });
}

export interface PageOptions {
  limit?: number;
  cursor?: string;
}

/** Options of a list; `next` shows people where it continues. */
export function paged(command: Command): Command {
  return command
    .option('--limit <n>', 'entries at most, 1 to 100', Number)
    .option('--cursor <cursor>', 'go on behind an earlier page');
}

export function pageInput({ limit, cursor }: PageOptions): { limit?: number; cursor?: string } {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}

interface PageMeta {
  next_cursor: string | null;
}

/** The line that says where a list goes on; null: it ends here. */
export const nextPage = ({ next_cursor: cursor }: PageMeta): string | null =>
  cursor === null ? null : `more: --cursor ${cursor}`;

export function withNext(text: string, meta: PageMeta): string {
  const next = nextPage(meta);
  return next === null ? text : `${text}\n\n${next}`;
}
