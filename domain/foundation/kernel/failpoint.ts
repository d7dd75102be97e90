/**
 * Named places at which a test can end the process as a power cut would: before and after each commit, start,
 * completion and publish. An unarmed failpoint costs one comparison.
 */
export const failpoints = [
  'create.before_commit',
  'create.after_commit',
  'dispatch.before_start',
  'dispatch.after_start',
  'turn.after_claim',
  'publish.before_commit',
  'publish.after_commit',
  'turn.before_commit',
  'turn.after_commit',
  'call.after_start',
  'call.before_effect',
  'call.after_effect',
  'call.before_commit',
  'call.after_commit',
  'finish.before_commit',
  'finish.after_commit',
  'notify.before_commit',
  'notify.after_commit',
  'refresh.before_commit',
  'activity.before_completion',
] as const;

export type Failpoint = (typeof failpoints)[number];

let armed: { name: string; skip: number } | null = null;

/** Arms one failpoint: the process kills itself when it reaches the failpoint for the `skip + 1`-th time. */
export function armFailpoint(name: Failpoint, skip = 0): void {
  armed = { name, skip };
}

/** `name` or `name:skip`, from the environment; without it no failpoint is armed. */
export function armFailpointFrom(setting: string | undefined): void {
  if (setting !== undefined) {
    const [name, skip] = setting.split(':');
    armFailpoint(name as Failpoint, Number(skip ?? 0));
  }
}

export function hitFailpoint(name: Failpoint): void {
  if (armed?.name !== name) {
    return;
  }
  if (armed.skip > 0) {
    armed.skip -= 1;
    return;
  }
  process.kill(process.pid, 'SIGKILL');
}
