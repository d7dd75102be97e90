import type { Defect } from './defect.ts';
import { engineDefects } from './engine-defects.ts';
import { peopleDefects } from './people-defects.ts';

export const defects: readonly Defect[] = [...engineDefects, ...peopleDefects];
