import { PathAutomaton } from './path-automaton.ts';

const slash = 0x2f;

/**
 * Whether the parts of a path match those of one of the patterns: `*` and `?` stand for characters of one part, `**`
 * for any parts. Patterns are compiled once; time grows with the length of the path, for any patterns, by about a
 * word of bits for each 32 characters of them.
 */
export function pathMatcher(patterns: readonly (readonly string[])[]): (parts: readonly string[]) => boolean {
  const automaton = new PathAutomaton();
  patterns.forEach((pattern) => addPattern(automaton, pattern));
  const run = automaton.compile();
  return (parts) => {
    const text: number[] = [];
    for (const part of parts) {
      for (let at = 0; at < part.length; at += 1) {
        const point = part.codePointAt(at) ?? 0;
        if (point > 0xff_ff) at += 1;
        text.push(point);
      }
      text.push(slash);
    }
    return run(text);
  };
}

function addPattern(automaton: PathAutomaton, pattern: readonly string[]): void {
  automaton.begin();
  for (const [index, part] of pattern.entries()) {
    if (part === '**') {
      // Several in a row are one.
      if (pattern[index - 1] !== '**') automaton.anyParts();
      continue;
    }
    for (const character of part) {
      if (character === '*') automaton.anyCharacters();
      else if (character === '?') automaton.anyCharacter();
      else automaton.character(character.codePointAt(0) ?? 0);
    }
    automaton.character(slash);
  }
  automaton.end();
}
