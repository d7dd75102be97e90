import type { Command } from 'commander';

/** Options of a command about something in a space. */
export interface InSpace {
  space: string;
}

export function inSpace(command: Command): Command {
  return command.requiredOption('--space <id>', 'the space');
}
