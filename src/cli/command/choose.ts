import { InterruptedError } from './errors.ts'

export interface Choice<T> {
  name: string
  value: T
}

/** Asks for one of a list on a terminal; what is typed narrows it. */
export async function choose<T>(message: string, choices: readonly Choice<T>[]): Promise<T> {
  const { default: search } = await import('@inquirer/search')
  const source = (typed = '') => {
    const words = typed.toLowerCase().split(/\s+/)
    return choices.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
  }
  try {
    return await search<T>({ message, source, pageSize: 10 }, { output: process.stderr })
  } catch (error) {
    if (error instanceof Error && error.name === 'ExitPromptError') throw new InterruptedError('Stopped.')
    throw error
  }
}
