import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { migratedDatabase, temporaryFolder } from '../../support/databases.ts'

const program = new URL('../../../bin/run.js', import.meta.url).pathname

/** Returns the files that a run of the built program loads, according to the coverage of Node.js. */
async function filesLoadedBy(args: string[]): Promise<string[]> {
  const folder = temporaryFolder()
  const { exitCode } = await execa('node', [program, ...args], { env: { NODE_V8_COVERAGE: folder }, reject: false })
  expect(exitCode).toBe(0)
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: { url: string }[] }
    return result.map(({ url }) => url)
  })
}

const heavy = /\/dist\/(server|storage|wallets)\/|\/node_modules\/(knex|sqlite3|pg|h3|sharp|zod|undici)\//

test.each(['--version', '--help', 'issue --help'])('%s loads no heavy module', async (args) => {
  const files = await filesLoadedBy(args.split(' '))
  expect(files.some((file) => file.endsWith('/bin/run.js'))).toBe(true)
  expect(files.filter((file) => heavy.test(file))).toEqual([])
})

test('this test detects a command that loads the database', async () => {
  const files = await filesLoadedBy(['migrate', '--database', await migratedDatabase('sqlite')])
  expect(files.some((file) => /\/dist\/storage\//.test(file))).toBe(true)
  expect(files.some((file) => /\/node_modules\/knex\//.test(file))).toBe(true)
})
