import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { VerifierFailure } from '#domain/operations/erasure-proof/verifier-failure.ts';
import { verifyErasure } from '#domain/operations/erasure-proof/verify-erasure.ts';

/** The verifier: its login comes in the environment, what it counts on its input; it answers on its output. */
const request = z
  .strictObject({ tenantId: z.uuid(), sampleIds: z.array(z.string()).max(1_000) })
  .parse(await json(process.stdin));
const found = await verifyErasure({
  databaseUrl: process.env.DATABASE_VERIFIER_URL ?? '',
  ...request,
}).catch((error: unknown) => {
  if (error instanceof VerifierFailure) {
    return { failure: error.code };
  }
  throw error;
});
process.stdout.write(JSON.stringify(found));
