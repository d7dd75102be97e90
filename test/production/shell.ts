import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../launcher/started.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const maxStepMs = 240_000;

/** One shell in the checkout, into which text is pasted: variables and functions stay, as in a terminal. */
export class Shell {
  readonly #bash: ChildProcess;
  #stdout = '';
  readonly #abandon = () => this.#killAll();

  constructor(env: NodeJS.ProcessEnv) {
    // A group of its own, which ends with everything that it left running.
    this.#bash = spawn('bash', ['--noprofile', '--norc'], {
      cwd: checkout,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#bash.stdout!.on('data', (chunk: Buffer) => (this.#stdout += chunk.toString()));
    process.once('exit', this.#abandon);
  }

  /** @returns what the commands printed, when the last of them has ended. */
  async run(commands: string): Promise<string> {
    const from = this.#stdout.length;
    const mark = randomUUID();
    // The commands are a group with an input of its own, so that none of them reads later pasted text.
    this.#bash.stdin!.write(`{\n${commands}\n} < /dev/null\necho ${mark}\n`);
    await until(() => {
      if (this.#stdout.includes(mark, from)) return true;
      if (this.#hasEnded()) throw new Error(`the shell has ended: ${this.#stdout.slice(from)}`);
      return false;
    }, maxStepMs);
    return this.#stdout.slice(from, this.#stdout.indexOf(mark, from));
  }

  async end(): Promise<void> {
    process.off('exit', this.#abandon);
    if (this.#hasEnded()) return;
    const ended = once(this.#bash, 'exit');
    this.#killAll();
    await ended;
  }

  #hasEnded(): boolean {
    return this.#bash.exitCode !== null || this.#bash.signalCode !== null;
  }

  #killAll(): void {
    process.kill(-this.#bash.pid!, 'SIGKILL');
  }
}
