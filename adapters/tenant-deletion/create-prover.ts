import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { VerifierFailure, verifierFailures } from '#domain/operations/erasure-proof/verifier-failure.ts';
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
const answered = z.union([verification, z.strictObject({ failure: z.enum(verifierFailures) })]);

/** What a connection to PostgreSQL takes from the environment beside its address: certificates. */
const passedOn = /^(PGSSL[A-Z]*|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|NODE_COMPILE_CACHE)$/;

/** Counts in a process of its own that has the verifier's login and no other. It throws `VerifierFailure`. */
export function createProver(databaseUrl: string | undefined): Prover {
  return {
    async verify(tenantId, sampleIds) {
      if (databaseUrl === undefined) {
        throw new VerifierFailure('verifier_not_configured', 'DATABASE_VERIFIER_URL is not set.');
      }
      const child = spawn(process.execPath, [program], {
        env: verifierEnvironment(process.env, databaseUrl),
        stdio: ['pipe', 'pipe', 'ignore'],
        timeout: maxMs,
        killSignal: 'SIGKILL',
      });
      const exited = once(child, 'exit') as Promise<[number | null]>;
      child.stdin.on('error', () => undefined).end(JSON.stringify({ tenantId, sampleIds }));
      const [answer, [code]] = await Promise.all([text(child.stdout), exited]);
      if (code !== 0) {
        throw new VerifierFailure('verifier_unreachable', 'The verifier has given no answer.');
      }
      const found = answered.parse(JSON.parse(answer));
      if ('failure' in found) {
        throw new VerifierFailure(found.failure, 'The verifier could not count.');
      }
      return found;
    },
  };
}

/** The environment of the verifier's process: its login, and what that needs. */
export function verifierEnvironment(env: NodeJS.ProcessEnv, databaseUrl: string): NodeJS.ProcessEnv {
  const needed = Object.entries(env).filter(([name]) => passedOn.test(name));
  return { ...Object.fromEntries(needed), DATABASE_VERIFIER_URL: databaseUrl };
}
