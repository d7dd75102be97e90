import type { Archive } from './archive.ts';
import { readXml } from './xml-reader.ts';

export interface Relation {
  /** The last part of its type, such as `slide`. */
  type: string;
  target: string;
}

/** Relations of a part of an Office Open XML package, by id; '' is the package itself. */
export async function relationsOf(archive: Archive, part: string): Promise<Map<string, Relation>> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const relations = new Map<string, Relation>();
  readXml(await archive.text(`${folder}_rels/${part.slice(folder.length)}.rels`), {
    open: (name, attributes) => {
      if (name !== 'Relationship' || attributes().get('TargetMode') === 'External') return;
      const type = attributes().get('Type') ?? '';
      relations.set(attributes().get('Id') ?? '', {
        type: type.slice(type.lastIndexOf('/') + 1),
        target: resolvePart(folder, attributes().get('Target') ?? ''),
      });
    },
    close: () => {},
    text: () => {},
  });
  return relations;
}

/** The part of the package's main document. */
export async function mainPart(archive: Archive, usual: string): Promise<string> {
  const relations = await relationsOf(archive, '');
  const target = [...relations.values()].find(({ type }) => type === 'officeDocument')?.target;
  return target !== undefined && archive.has(target) ? target : usual;
}

/** A reference relative to a folder, as the name of an entry. */
export function resolvePart(folder: string, target: string): string {
  if (target.startsWith('/')) {
    return target.slice(1);
  }
  const path: string[] = [];
  for (const step of `${folder}${target}`.split('/')) {
    if (step === '..') path.pop();
    else if (step !== '.' && step !== '') path.push(step);
  }
  return path.join('/');
}
