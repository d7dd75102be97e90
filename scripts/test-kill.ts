import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

/** The long kill run. `--seed <n>`, or SEED in the environment, repeats an earlier one. */
const { values } = parseArgs({ options: { seed: { type: 'string' } } });
const vitest = spawn('vitest', ['run', '--config', 'vitest.kill.config.ts', 'test/kill'], {
  stdio: 'inherit',
  env: { ...process.env, ...(values.seed === undefined ? {} : { SEED: values.seed }) },
});
vitest.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
