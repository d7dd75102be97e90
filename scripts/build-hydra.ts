import { buildHydra } from '../test/support/authorization/hydra-program.ts';

/** Builds the authorization server that `test/e2e/foreign-authorization.test.ts` is skipped without. */
const say = (text: string) => void process.stderr.write(`${text}\n`);
const path = await buildHydra(process.env, {
  during: (what, work) => {
    say(what);
    return work;
  },
  note: say,
});
say(path);
