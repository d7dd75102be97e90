import type { GitServer } from '../support/sources/git-server.ts';
import type { Dice } from './edit.ts';

const some = async (server: GitServer, dice: Dice, ...args: string[]) =>
  dice.pick((await server.git(...args)).split('\n').filter(Boolean)) ?? 'HEAD';

/** Now and then the default branch becomes another one, or its history is written again. */
export async function moveHistory(server: GitServer, dice: Dice): Promise<void> {
  const act = dice.random();
  if (act < 0.06) {
    await server.git('checkout', '-q', '-b', `branch-${dice.name()}`);
  } else if (act < 0.12) {
    await server.git('checkout', '-q', await some(server, dice, 'branch', '--format=%(refname:short)'));
  } else if (act < 0.18) {
    // As after `git push --force` of an earlier commit, or of another branch's.
    await server.git('reset', '-q', '--hard', await some(server, dice, 'rev-list', '-n', '20', '--all'));
  } else if (act < 0.22) {
    await server
      .git('revert', '-q', '--no-edit', '-X', 'theirs', 'HEAD')
      .catch(() => server.git('revert', '--quit'));
    await server.git('reset', '-q', '--hard');
  } else if (act < 0.28) {
    await server.git('commit', '-q', '--amend', '--allow-empty', '-m', `again ${dice.name()}`);
  } else if (act < 0.31) {
    await server.git('checkout', '-q', '--orphan', `orphan-${dice.name()}`);
    await server.git('commit', '-q', '--allow-empty', '-m', 'without history');
  }
  if (act < 0.31 && dice.random() < 0.3) {
    await server.git('reflog', 'expire', '--expire=now', '--all');
    await server.git('gc', '-q', '--prune=now');
  }
}
