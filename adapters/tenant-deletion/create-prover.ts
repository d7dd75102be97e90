import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Prover } from '#domain/operations/tenant-deletion/prove-erasure.ts';

const program = fileURLToPath(new URL('verifier-main.ts', import.meta.url));
const maxMs = 1_500_000;

const counts = z.record(z.string(), z.int().nonnegative());
const verification = z.strictObject({
  tables: counts,
  shared: counts,
  bytes: z.int().nonnegative(),
  clean: z.boolean(),
});

/** Counts in a process of its own that has the verifier's login and no other. */
export function createProver(databaseUrl: string | undefined): Prover {
  return {
    async verify(tenantId, sampleIds) {
      if (databaseUrl === undefined) {
        throw new Error('DATABASE_VERIFIER_URL is not set: nothing verifies erasures.');
      }
      const child = spawn(process.execPath, [program], {
        env: { DATABASE_VERIFIER_URL: databaseUrl, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' },
        stdio: ['pipe', 'pipe', 'ignore'],
        timeout: maxMs,
        killSignal: 'SIGKILL',
      });
      const exited = once(child, 'exit') as Promise<[number | null]>;
      child.stdin.on('error', () => undefined).end(JSON.stringify({ tenantId, sampleIds }));
      const [answer, [code]] = await Promise.all([text(child.stdout), exited]);
      if (code !== 0) {
        throw new Error('The verifier has failed.');
      }
      return verification.parse(JSON.parse(answer));
    },
  };
}
