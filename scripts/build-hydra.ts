import { buildHydra } from '../test/support/authorization/hydra-program.ts';

/** Builds the authorization server that `test/e2e/foreign-authorization.test.ts` is skipped without. */
process.stderr.write(`${await buildHydra(process.env)}\n`);
