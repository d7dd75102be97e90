import { foldersOf, type Tree } from './tree.ts';
import type { SourceServer } from '../support/sources/source-server.ts';

/** Draws from seeded numbers. */
export class Dice {
  readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  /** A text with a word of its own; now and then there is nothing in the file. */
  text(): string {
    return this.random() < 0.04 ? '' : `It is about word${this.below(1e9)}.`;
  }

  name(): string {
    return this.below(1e9).toString(36);
  }
}

const places = ['', 'a/', 'a/b/', 'ä/', 'z z/', 'deep/er/still/'];

/**
 * Some changes of files and folders, as people make them: additions, edits, moves, deletions, and texts from before.
 * Folders are moved and deleted as a whole. `past` holds texts that files have had.
 */
export async function edit(
  server: Pick<SourceServer, 'put' | 'move' | 'remove'>,
  tree: Tree,
  { dice, past }: { dice: Dice; past: Map<string, string[]> },
): Promise<void> {
  const names = new Set(tree.keys());
  const write = async (name: string, text: string) => {
    await server.put(name, text);
    names.add(name);
    past.set(name, [...(past.get(name) ?? []), text]);
  };
  const fresh = () => `${dice.pick(places)}${dice.name()}.md`;
  for (let changes = 1 + dice.below(6); changes > 0; changes -= 1) {
    const [act, name, folder] = [dice.random(), dice.pick([...names]), dice.pick(foldersOf(names))];
    if (name === undefined || act < 0.35) {
      await write(fresh(), dice.text());
    } else if (act < 0.55) {
      await write(name, dice.text());
    } else if (act < 0.63) {
      await write(name, dice.pick(past.get(name) ?? []) ?? dice.text());
    } else if (act < 0.75) {
      const to = fresh();
      await server.move(name, to);
      names.delete(name);
      names.add(to);
    } else if (act < 0.87 || folder === undefined) {
      await server.remove(name);
      names.delete(name);
    } else {
      const beneath = [...names].filter((each) => each.startsWith(`${folder}/`));
      for (const each of beneath) names.delete(each);
      if (act < 0.95) {
        const to = `moved ${dice.name()}`;
        await server.move(folder, to);
        for (const each of beneath) names.add(`${to}${each.slice(folder.length)}`);
      } else {
        await server.remove(folder);
      }
    }
  }
  // More than one request or page of a source holds.
  if (dice.random() < 0.03) for (let more = 0; more < 130; more += 1) await write(fresh(), dice.text());
}
