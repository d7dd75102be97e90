import { articles, lisa, slashed, smart, squad } from './formats.ts';
import type { Files, TestCollection } from './test-collection.ts';

/** Where a collection comes from. Its files are fetched and cached, never shipped. */
export interface CollectionSource {
  name: string;
  licence: string;
  /** The folder of its files at a pinned commit. */
  folder: string;
  /** SHA-256 by path. */
  files: Readonly<Record<string, string>>;
  read: (name: string, files: Files) => TestCollection;
}

/** Copies of the test collections that the University of Glasgow distributes for research, without a licence text. */
const glasgow = {
  licence: 'free for research, as distributed by the University of Glasgow',
  folder:
    'https://raw.githubusercontent.com/fbergh/IR_Project/e34a57a807fd9622d8b62e0d4c390e6d181723fc/data/',
};

export const collectionSources: readonly CollectionSource[] = [
  {
    name: 'Cranfield',
    ...glasgow,
    files: {
      'cran/cran.all.1400': 'b234544b6ceccd131520df4a3cb6d42aee6576eb577933d047e722bbfe7b0b09',
      'cran/cran.qry': '99578ceb88941ef89c14faf7c63c23776a376d8fba319b990f01d0c601d8b03f',
      'cran/cran.qrels': '92e54b58dac0b980152178f350d892fae66c8a239b8a11715b835fb8d2f6bc0e',
    },
    read: smart({
      documents: 'cran/cran.all.1400',
      questions: 'cran/cran.qry',
      judgements: 'cran/cran.qrels',
      numbered: true,
    }),
  },
  {
    name: 'CISI',
    ...glasgow,
    files: {
      'cisi/CISI.ALL': 'df5af339fa4623ef33e315f39f3e13c050d17535c18360c727bf3c96ce60ba40',
      'cisi/CISI.QRY': 'a5ffad2b39445ca5f4091351466b3d70dad9b4eb9a713b8334d46abb291ffd3c',
      'cisi/CISI.REL': 'deb203a0dc07628d14dbcbc9a9803bf3c1f86e855570edb29d907663de8d6ea9',
    },
    read: smart({ documents: 'cisi/CISI.ALL', questions: 'cisi/CISI.QRY', judgements: 'cisi/CISI.REL' }),
  },
  {
    name: 'Medline',
    ...glasgow,
    files: {
      'med/MED.ALL': 'fdcd99cf7fc6c45707c9b5bef7daac739f06c4063ebcad9b5cccf2f939fa4236',
      'med/MED.QRY': '41fbc9d7a0ac8620d53e09b3429d2695cecc63d4bf7e15e55bbcee0785a1798c',
      'med/MED.REL': 'aef5ac922c08d5711ffd525985e03cda4272694e35f646deab90177f329ff575',
    },
    read: smart({ documents: 'med/MED.ALL', questions: 'med/MED.QRY', judgements: 'med/MED.REL' }),
  },
  {
    name: 'CACM',
    ...glasgow,
    files: {
      'cacm/cacm.all': '34bdd3eb27a92e5f8068a785b53ef40b9dc0b800dbafc5bac79a80dd999cdc17',
      'cacm/query.text': 'ca004f06b57cb8a298c73bf55793174e50ff32fc83c5bb5f10ed2ed559f621e6',
      'cacm/qrels.text': 'da4202b0c70cad7d91c9a028eaf8cbd0a4ca981ebdc3955eb75ba7b6de6f185c',
    },
    read: smart({ documents: 'cacm/cacm.all', questions: 'cacm/query.text', judgements: 'cacm/qrels.text' }),
  },
  {
    name: 'TIME',
    ...glasgow,
    files: {
      'time/TIME.ALL': 'b8ae908cff6f1d5d1ed77958accc2b890c6a94ab2d15748af80c2b2ac7466ab6',
      'time/TIME.QUE': '4c6d7ce94f51fdff805f8fd0773bb98cf3e7868521bab544a047a5a1935dbda6',
      'time/TIME.REL': 'e7f3c69bde95fe05e757db6c60f262608028945cd0f9c1fcba4cb116abcc1539',
    },
    read: articles({ documents: ['time/TIME.ALL'], questions: 'time/TIME.QUE', judgements: 'time/TIME.REL' }),
  },
  {
    name: 'XQuAD',
    licence: 'CC BY-SA 4.0',
    folder:
      'https://raw.githubusercontent.com/google-deepmind/xquad/7d30520c717524000f0d9d2f9c10a069acd9d285/',
    files: {
      'xquad.en.json': 'e4c57d1c9143aaa1c5d265ba5987a65f4e69528d2a98f29d6e75019b10344f29',
    },
    read: squad('xquad.en.json'),
  },
  {
    name: 'NPL',
    ...glasgow,
    files: {
      'npl/doc-text': '9a9a396da453eb0a6c659b1399ae6c551d11d04a68b6f0a4e21fc757e77c398f',
      'npl/query-text': '0f5e9a179334183cc3b04fe24d9bdfc3f656b08330e6798d8df5dc621bf8e6d5',
      'npl/rlv-ass': '1af78732abed49055218c1548c27cfa354c5d02a9b6c9cb854b9d0b74fcce24c',
    },
    read: slashed({ documents: ['npl/doc-text'], questions: 'npl/query-text', judgements: 'npl/rlv-ass' }),
  },
  {
    name: 'LISA',
    ...glasgow,
    files: {
      'lisa/LISA0.001': 'f65d26f88eaebdc9b93f71c593cb12cfd56aeb8af96a35e6ae84f1d1cc921d05',
      'lisa/LISA0.501': 'bd05125114beadc1855746a155e5c0acc4931b03335e1ced5ec92510dd3b89be',
      'lisa/LISA1.001': '5b7c505748017871a9ce9df0c08af11620f00ab4c4a4275cf6b73fa686c68060',
      'lisa/LISA1.501': '6c5c2afeee5914d93aee602dfcb29bdc9128f881006b8e2f27f5fc49d58e917a',
      'lisa/LISA2.001': '368017d7dcb1f89d2c687d899aca44bc142b73c5a90e4836dc4a777753a2daac',
      'lisa/LISA2.501': 'b5261978dc1cacfb5135241bc23d22f8d4cdd79d4d05227b6184001bfe523e5f',
      'lisa/LISA3.001': '1a72b02bdebb51d40cc99b94d1a6d0a19d6f5622b5ea11530762f1e7a7579275',
      'lisa/LISA3.501': 'ba1f6d9afd116da5f0e648de8660dae3fddd1e992896012eb90830025fdab147',
      'lisa/LISA4.001': '4286019ff5892883b61c6ca90feaac365504a38856ca8c74da8f3d0aee56cd57',
      'lisa/LISA4.501': '8920e83f5fea55f9303181627cf6a70e1bfee68471a8181ba5d2e1c493eee91c',
      'lisa/LISA5.001': 'd3200853b34587f14988fbfe716e90317919c0c5fba5289a72f53956c9b3ded9',
      'lisa/LISA5.501': '2c93176398637fdf08b9ce0ebbf40522df8e3f6564c4bbee2c3949f5cc1a1223',
      'lisa/LISA5.627': 'c763b4a71b070de5d91e2232b752a4c6a89bf94286e8fd440cdf10bea549cf8b',
      'lisa/LISA5.850': '67c9db89f87255bf1e741ea4d00252fe2ce1acc00d24bff1bd7a6087fee8589b',
      'lisa/LISA.QUE': '0807676e427fd000143f1d87f2e47868273d92f00d284fdb854bda84c4eb0710',
      'lisa/LISA.REL': '52de9681282e94fa194c3a65a86b99471ea4d233f05459a429674c14296a8068',
    },
    read: lisa({
      documents: [
        'lisa/LISA0.001',
        'lisa/LISA0.501',
        'lisa/LISA1.001',
        'lisa/LISA1.501',
        'lisa/LISA2.001',
        'lisa/LISA2.501',
        'lisa/LISA3.001',
        'lisa/LISA3.501',
        'lisa/LISA4.001',
        'lisa/LISA4.501',
        'lisa/LISA5.001',
        'lisa/LISA5.501',
        'lisa/LISA5.627',
        'lisa/LISA5.850',
      ],
      questions: 'lisa/LISA.QUE',
      judgements: 'lisa/LISA.REL',
    }),
  },
];
