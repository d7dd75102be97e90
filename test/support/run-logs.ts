import { closeSync, mkdirSync, openSync, readdirSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface RunLogs {
  folder: string;
  write(server: string, line: string): void;
  /** Removes them when nothing failed; otherwise says where they are. */
  finish(failed: boolean): void;
}

/** One folder per run below `.test-logs`, so that parallel runs are kept apart. */
export function openRunLogs(root: string): RunLogs {
  const started = new Date().toISOString().replaceAll(':', '').slice(0, 17);
  const folder = join(root, `${started}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const files = new Map<string, number>();
  let finished = false;
  function fileOf(server: string): number {
    const file = files.get(server) ?? openSync(join(folder, `${server}.log`), 'a');
    files.set(server, file);
    return file;
  }
  return {
    folder,
    // A server may write its last lines when the run is over.
    write: (server, line) => void (finished || writeSync(fileOf(server), `${line}\n`)),
    finish(failed) {
      finished = true;
      for (const file of files.values()) closeSync(file);
      files.clear();
      if (failed) return void process.stderr.write(`The servers' logs of this run are in ${folder}\n`);
      rmSync(folder, { recursive: true, force: true });
      if (readdirSync(root).length === 0) rmdirSync(root);
    },
  };
}
