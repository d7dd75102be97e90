import { setTimeout as sleep } from 'node:timers/promises';
import { mulberry32 } from '../../support/model-script.ts';
import { Fleet } from '../fleet.ts';
import { until } from '../knowledge-rows.ts';
import { deployConnections, type ConnectionDeployment } from './deployment.ts';
import { Person, type CallEnd, type MadeConnection } from './person.ts';
import type { ConnectionForm } from './plan.ts';
import type { ConnectionRun } from './report.ts';
import { strikeConnections, type ConnectionStruck } from './strikes.ts';
import { judgeTokens } from './verdict.ts';

export interface ConnectionOptions extends ConnectionForm {
  seed: number;
  say: (line: string) => void;
}

/** The account of the shared server. */
const team = 'team';
const pauseMs = 300;
/** People who connect and disconnect in turn: each may begin twenty attempts in ten minutes. */
const restlessPeople = 4;
const restlessPauseMs = 600_000 / (20 * restlessPeople);
const endingMs = 180_000;

/**
 * People call a tool server with short-lived tokens, and some of them connect and disconnect all the time, while workers,
 * gateways and PostgreSQL are killed; then the authorization server's log is compared with what the people got.
 */
export async function runConnections(options: ConnectionOptions): Promise<ConnectionRun> {
  const deployment = await deployConnections(options.people + restlessPeople);
  try {
    return await runOn(deployment, options);
  } finally {
    await deployment.stop();
  }
}

async function runOn(deployment: ConnectionDeployment, options: ConnectionOptions): Promise<ConnectionRun> {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const random = mulberry32(options.seed);
  const { authorization, query, world } = deployment;
  const fleet = new Fleet(deployment.stack);
  const gateway = () => {
    const ready = fleet.ready('gateway');
    return ready[Math.floor(Math.random() * ready.length)] ?? deployment.stack.gateways[0]!;
  };
  const persons = deployment.members.map((member) => new Person(member, deployment, gateway));
  const [admin, ...callers] = persons as [Person, ...Person[]];
  const [personal, shared] = await openServers(deployment, persons);
  const run = { ends: [] as CallEnd[], struck: [] as ConnectionStruck[], missed: [] as string[] };
  const made: MadeConnection[] = persons.map(({ member: { account } }) => ({
    account,
    at: performance.now(),
  }));
  let tries = 0;
  const stop = new AbortController();

  const connect = async (person: Person, serverId: string, account?: string) => {
    tries += 1;
    const isMade = await person.connect(serverId, account);
    if (isMade) made.push({ account: account ?? person.member.account, at: performance.now() });
    return isMade;
  };
  const note = (end: CallEnd | null) => {
    if (end !== null) run.ends.push(end);
    return end?.output === 'authorization_required';
  };
  const callAgain = async (person: Person) => {
    while (!stop.signal.aborted) {
      if (note(await person.call('personal'))) await connect(person, personal);
      note(await person.call('shared', team));
      await sleep(pauseMs);
    }
  };
  /** The shared account is connected again by its administrator alone. */
  const callShared = async () => {
    while (!stop.signal.aborted) {
      if (note(await admin.call('shared', team))) await connect(admin, shared, team);
      await sleep(pauseMs);
    }
  };
  const connectAgain = async (people: readonly Person[]) => {
    const path = `/v1/spaces/${world.spaceId}/mcp-servers/${personal}/connection`;
    for (let turn = 0; !stop.signal.aborted; turn += 1) {
      const person = people[turn % people.length]!;
      if (await connect(person, personal)) {
        note(await person.call('personal'));
        await person.send('DELETE', path);
      }
      await sleep(restlessPauseMs);
    }
  };
  const restless = callers.splice(-restlessPeople);
  const accounts = new Set(restless.map(({ member }) => member.account));
  const traffic = [...callers.map(callAgain), callShared(), connectAgain(restless)];

  for (const kind of options.strikes) {
    await sleep(random() * options.restMs);
    try {
      const struck = await strikeConnections(deployment, fleet, { kind, random, pauseMs: options.pauseMs });
      run.struck.push(struck);
      options.say(`${seconds()} s  ${kind} ${struck.signal}, ${struck.inFlight} answers under way`);
    } catch (error) {
      run.missed.push(`${kind}: ${(error as Error).message}`);
    }
  }
  await fleet.settle();
  await sleep(options.restMs);
  stop.abort();
  await Promise.all(traffic);
  // What is stored has to be what the authorization server honours.
  for (const person of callers) note(await person.call('personal'));
  note(await admin.call('shared', team));
  const open: string[] = [];
  await until('', endingMs, async () => {
    const rows = await query<{ id: string }>('select id from responses where finished_at is null');
    open.splice(0, open.length, ...rows.map(({ id }) => id));
    return open.length === 0 ? true : null;
  }).catch(() => undefined);
  const foreign = run.ends.filter(
    ({ account, output }) => /^(account-\d+|team)$/.test(output) && output !== account,
  );
  return {
    seed: options.seed,
    struck: run.struck,
    missed: [...run.missed, ...fleet.failures.map(({ message }) => message)],
    outputs: countOf(run.ends.map(({ account, output }) => (output === account ? 'own account' : output))),
    foreign: foreign.map(({ account, output }) => `${output} for ${account}`),
    stuck: [...persons.flatMap(({ stuck }) => stuck), ...open],
    tokens: judgeTokens(authorization.tokenRequests, run.struck, {
      ends: run.ends.filter(({ account }) => !accounts.has(account)),
      made,
    }),
    connected: made.length - persons.length,
    tries,
    seconds: seconds(),
  };
}

/** Everybody connects, and `whoami` is allowed at both servers. */
async function openServers(
  { servers, personal, shared }: ConnectionDeployment,
  persons: readonly Person[],
): Promise<[personal: string, shared: string]> {
  const ids: string[] = [];
  for (const [server, people] of [
    [personal, persons.slice(0, -restlessPeople)],
    [shared, persons.slice(0, 1)],
  ] as const) {
    const id = server.mcp_server_config_id;
    for (const person of people) {
      const account = server === shared ? team : undefined;
      if (!(await person.connect(id, account))) throw new Error('A person could not connect.');
    }
    await until('The tools were not read', 60_000, async () => {
      const { data } = await servers.call('GET', `mcp-servers/${id}`);
      return data.status === 'connected' ? true : null;
    });
    await servers.update(server, { enabled_tools: ['whoami'] });
    ids.push(id);
  }
  return ids as [string, string];
}

const countOf = (list: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(list, (each) => each)].map(([name, each]) => [name, each.length]));
