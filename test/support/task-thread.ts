/** What a thread of a pool is to do with a task. */
export type ThreadTask = 'answer' | 'hang' | 'grow';

export default function run(task: ThreadTask): string {
  if (task === 'hang') for (;;);
  if (task === 'grow')
    for (const held: object[] = []; ;) held.push(Array.from({ length: 1_000 }, () => ({})));
  return 'answered';
}
