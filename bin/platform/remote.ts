import { CommanderError, type Command } from 'commander';
import { connect, type Client, type Connection } from './connect.ts';

/** A command that is one call of the gateway: its request, and how the answer is shown. */
export interface Remote<Options, Result> {
  call(client: Client, options: Options, argument: string): Promise<Result>;
  show(result: Result): string;
  /** The exit code is 1 after an answer that is a failure. */
  isFailure?: (result: Result) => boolean;
}

/** Adds `--json` and runs the call when the command is given. */
export function remote<Options, Result>(command: Command, spec: Remote<Options, Result>): void {
  command.option('--json', 'print JSON').action(async () => {
    const options = command.optsWithGlobals<Options & Connection & { json?: boolean }>();
    const result = await spec.call(connect(options), options, command.args[0] ?? '');
    const text = options.json === true ? JSON.stringify(result) : spec.show(result);
    command.configureOutput().writeOut?.(`${text}\n`);
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

export function withNext(text: string, meta: { next_cursor: string | null }): string {
  return meta.next_cursor === null ? text : `${text}\n\nmore: --cursor ${meta.next_cursor}`;
}
