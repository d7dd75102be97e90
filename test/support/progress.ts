import type { Progress } from '../../bin/launcher/output.ts';

const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Says on stderr every ten seconds what goes on: a program that has to be built first takes minutes. */
export const progress: Progress = {
  note: say,
  async during(what, work) {
    const since = Date.now();
    const timer = setInterval(() => say(`${what} … ${Math.round((Date.now() - since) / 1_000)} s`), 10_000);
    try {
      return await work;
    } finally {
      clearInterval(timer);
    }
  },
};
