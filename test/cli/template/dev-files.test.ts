import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DevFiles } from '../../../src/cli/template/dev-files.ts'
import { plainPng } from '../../../src/files/plain-png.ts'
import { temporaryFolder } from '../../support/databases.ts'

test('watches an image that cannot be read, so that the page follows its repair', async () => {
  const folder = temporaryFolder()
  const [path, image] = [join(folder, 'ticket.json'), join(folder, 'logo.png')]
  const design = { organizationName: 'Fair', description: 'Ticket', images: { logo: 'logo.png' } }
  writeFileSync(path, JSON.stringify({ name: 'Ticket', passType: 'generic', definition: { design } }))
  const files = new DevFiles(path, undefined)
  expect(await files.read()).toEqual({ faults: [`${image} does not exist`] })
  expect(files.paths()).toEqual([path, image])
  writeFileSync(image, 'no image')
  expect(await files.read()).toEqual({ faults: [`${image} (logo) is neither PNG nor JPEG`] })
  expect(files.paths()).toEqual([path, image])
  writeFileSync(image, plainPng(480, 150, '#22313f'))
  expect(await files.read()).toMatchObject({ content: { problems: [] } })
  expect(files.paths()).toEqual([path, image])
})
