import { defects } from './mutants/defects.ts';
import { openWorkshop, type Workshop } from './mutants/workshop.ts';

/** Applies one known defect at a time and runs its test: each must fail. `npm run test:mutants [name…]` */
const wanted = process.argv.slice(2);
const chosen = defects.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)),
);
/** A run of one test waits as much as it works. */
const workshops = await Promise.all([openWorkshop(), openWorkshop()]);
const close = () => Promise.all(workshops.map((workshop) => workshop.close()));
process.once('SIGINT', () => void close().finally(() => process.exit(130)));

/** A test that fails without the defect proves nothing. */
async function isSoundWithout(): Promise<boolean> {
  const tests = [...new Set(chosen.map(({ test }) => test))];
  const since = Date.now();
  const { passed, failed, output } = await workshops[0].run(tests);
  const green = failed.length === 0 && passed > 0;
  line(['(no defect)', `${tests.length} files, ${passed} tests`, green ? 'green' : 'RED', since]);
  if (!green) {
    process.stdout.write(`${failed.join('\n')}\n${output}\n`);
  }
  return green;
}

async function findSurvivors(): Promise<string[]> {
  const survivors: string[] = [];
  const left = chosen.values();
  const work = async (workshop: Workshop): Promise<void> => {
    for (const defect of left) {
      const since = Date.now();
      const { failed, output } = await workshop.runWith(defect);
      const caught = failed.some((name) => name.includes(defect.caughtBy));
      line([defect.name, defect.test.replace('test/', ''), caught ? 'red' : 'GREEN', since]);
      if (!caught) {
        survivors.push(defect.name);
        process.stdout.write(`${failed.join('\n')}\n${output.slice(-2_000)}\n`);
      }
    }
  };
  // Their folders are removed when both have ended.
  const ended = await Promise.allSettled(workshops.map(work));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return survivors;
}

function line([name, test, colour, since]: [string, string, string, number]): void {
  const seconds = ((Date.now() - since) / 1000).toFixed(1).padStart(5);
  process.stdout.write(`${name.padEnd(46)} ${test.padEnd(46)} ${colour.padEnd(6)} ${seconds} s\n`);
}

try {
  const began = Date.now();
  const survivors = (await isSoundWithout()) ? await findSurvivors() : ['(no defect)'];
  const verdict =
    survivors.length === 0 ? `all ${chosen.length} caught` : `not caught: ${survivors.join(', ')}`;
  process.stdout.write(`\n${verdict} (${((Date.now() - began) / 1000).toFixed(0)} s)\n`);
  process.exitCode = survivors.length === 0 && chosen.length > 0 ? 0 : 1;
} finally {
  await close();
}
