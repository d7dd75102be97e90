import { join } from 'node:path';
import { SyntaxKind, type Expression, type Node, type SourceFile } from 'typescript/unstable/ast';
import { isBinaryExpression, isElementAccessExpression } from 'typescript/unstable/ast/is';
import { API, TypeFlags, type Checker, type Project, type Type } from 'typescript/unstable/sync';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

const layers = /^(activities|adapters|api|bin|domain|temporal|workflows)\/.*\.ts$/;

/** An object is accessed by a key: `object[key]`, or `key in object`. */
interface Lookup {
  node: Node;
  object: Expression;
  key: Expression;
}

/**
 * A plain object has `constructor`, `toString` and `__proto__` by inheritance. So look-ups by a string that
 * is unknown when the code is written use a Map, or `own` of domain/foundation/kernel/own.ts.
 */
export async function findKeyLookups(): Promise<Findings> {
  const paths = (await listFiles()).filter((path) => layers.test(path));
  const lines = lookUp(
    join(checkout, 'tsconfig.json'),
    paths.map((path) => join(checkout, path)),
  );
  return { ok: lines.length === 0, text: lines.join('\n') };
}

/** One line per find, for files of the project of `tsconfig`. */
export function lookUp(tsconfig: string, files: readonly string[]): string[] {
  const api = new API({ cwd: checkout });
  try {
    const project = api.updateSnapshot({ openProjects: [tsconfig] }).getProject(tsconfig);
    if (project === undefined) {
      throw new Error(`TypeScript does not know the project ${tsconfig}.`);
    }
    return files.flatMap((file) => inspect(project, file));
  } finally {
    api.close();
  }
}

function inspect({ program, checker }: Project, path: string): string[] {
  const file = program.getSourceFile(path);
  if (file === undefined) {
    return [`${path}: is no part of the project`];
  }
  const lookups: Lookup[] = [];
  collect(file, lookups);
  const objects = checker.getTypeAtLocation(lookups.map(({ object }) => object));
  const keys = checker.getTypeAtLocation(lookups.map(({ key }) => key));
  return lookups
    .filter((lookup, index) => {
      const [object, key] = [objects[index], keys[index]];
      return (
        object !== undefined &&
        key !== undefined &&
        isAnyText(checker, key) &&
        isOpenRecord(checker, object) &&
        !isAskedFirst(lookup, file)
      );
    })
    .map(({ node }) => {
      const line = file.text.slice(0, node.getStart(file)).split('\n').length;
      return `${path.replace(checkout, '')}:${line}: ${node.getText(file)} asks an object for whatever key: use a Map, or own()`;
    });
}

function collect(node: Node, found: Lookup[]): void {
  if (isElementAccessExpression(node)) {
    found.push({ node, object: node.expression, key: node.argumentExpression });
  } else if (isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword) {
    found.push({ node, object: node.right, key: node.left });
  }
  node.forEachChild((child) => collect(child, found));
}

/** Whether a key may be any text, as far as its type shows; a brand on the type changes nothing. */
function isAnyText(checker: Checker, type: Type): boolean {
  if ((type.flags & (TypeFlags.String | TypeFlags.StringMapping)) !== 0) {
    return true;
  }
  if (type.isUnionType() || type.isIntersectionType()) {
    return type.getTypes().some((part) => isAnyText(checker, part));
  }
  const constraint = checker.getBaseConstraintOfType(type);
  return constraint !== undefined && constraint.id !== type.id && isAnyText(checker, constraint);
}

/** Whether the object may hold any key, as far as its type shows. */
function isOpenRecord(checker: Checker, type: Type): boolean {
  if (type.isUnionType() || type.isIntersectionType()) {
    return type.getTypes().some((part) => isOpenRecord(checker, part));
  }
  const isString = ({ keyType }: { keyType: Type }) => (keyType.flags & TypeFlags.String) !== 0;
  return checker.getIndexInfosOfType(type).some(isString);
}

/** Whether the function first checks that the key is the object's own. */
function isAskedFirst({ node, object, key }: Lookup, file: SourceFile): boolean {
  const question = `Object.hasOwn(${object.getText(file)}, ${key.getText(file)})`;
  let around = node;
  while (around.parent !== file && !functions.has(around.kind)) {
    around = around.parent;
  }
  return around.getText(file).includes(question);
}

const functions: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
]);
