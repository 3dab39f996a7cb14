// Every command by its id, from source: the files in src/commands and the tables in src/cli/resource and src/cli/operator.
import { readdirSync } from 'node:fs'

const src = new URL('../src/', import.meta.url)

/** The commands of the program, as oclif's explicit strategy wants them. */
export const commands = {}

for (const file of readdirSync(new URL('commands/', src), { recursive: true }).filter((name) => name.endsWith('.ts'))) {
  const id = file.replace(/\.ts$/, '').replaceAll('/', ':')
  commands[id] = (await import(new URL(`commands/${file}`, src).href)).default
}
for (const folder of ['cli/resource/', 'cli/operator/']) {
  for (const file of readdirSync(new URL(folder, src))) {
    Object.assign(commands, (await import(new URL(folder + file, src).href)).commands)
  }
}
