# SPDX-License-Identifier: MIT
"""Models of scikit-learn, LightGBM and XGBoost as their exporters write them, against onnxruntime. Runs where these are installed beside the
tests' packages:

    build/venv/bin/pip install scikit-learn skl2onnx lightgbm xgboost onnxmltools && build/venv/bin/python -m pytest test/operators/test_sklearn.py
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

skl2onnx = pytest.importorskip("skl2onnx")
from sklearn import cluster, datasets, decomposition, ensemble, feature_extraction, impute, linear_model, naive_bayes, neighbors, neural_network, preprocessing, svm, tree  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

iris, cancer, diabetes = datasets.load_iris(), datasets.load_breast_cancer(), datasets.load_diabetes()
THREE = iris.data.astype(np.float32), iris.target
TWO = cancer.data[:, :6].astype(np.float32), cancer.target
NUMBER = diabetes.data.astype(np.float32), diabetes.target
WHOLE = np.round(THREE[0]).astype(np.int64), THREE[1]
logistic = linear_model.LogisticRegression(max_iter=1000)
few = dict(n_estimators=5, random_state=0)
MODELS = {
    "logistic 3": (logistic, THREE), "logistic 2": (logistic, TWO), "sgd": (linear_model.SGDClassifier(random_state=0), TWO), "ridge classes": (linear_model.RidgeClassifier(), THREE),
    "linear svc 3": (svm.LinearSVC(), THREE), "linear svc 2": (svm.LinearSVC(), TWO), "svc 3": (svm.SVC(probability=True), THREE), "svc 2": (svm.SVC(probability=True), TWO),
    "svc 3 without": (svm.SVC(), THREE), "svc poly": (svm.SVC(kernel="poly", probability=True), TWO), "svr": (svm.SVR(), NUMBER), "nu svr": (svm.NuSVR(kernel="sigmoid"), NUMBER),
    "one class": (svm.OneClassSVM(), THREE), "linear": (linear_model.LinearRegression(), NUMBER), "ridge": (linear_model.Ridge(), NUMBER),
    "forest 2": (ensemble.RandomForestClassifier(**few), TWO), "forest 3": (ensemble.RandomForestClassifier(**few), THREE), "forest": (ensemble.RandomForestRegressor(**few), NUMBER),
    "boosting 2": (ensemble.GradientBoostingClassifier(**few), TWO), "boosting 3": (ensemble.GradientBoostingClassifier(**few), THREE),
    "tree 2": (tree.DecisionTreeClassifier(max_depth=3), TWO), "tree 3": (tree.DecisionTreeClassifier(max_depth=3), THREE), "extra trees": (ensemble.ExtraTreesClassifier(**few), TWO),
    "ada": (ensemble.AdaBoostClassifier(n_estimators=3), TWO), "bagging": (ensemble.BaggingClassifier(n_estimators=3), THREE), "bayes": (naive_bayes.GaussianNB(), THREE),
    "multinomial": (naive_bayes.MultinomialNB(), THREE), "neighbors": (neighbors.KNeighborsClassifier(3), THREE), "neighbors'": (neighbors.KNeighborsRegressor(3), NUMBER),
    "perceptron": (neural_network.MLPClassifier((8,), max_iter=50), THREE), "k-means": (cluster.KMeans(3), THREE),
    "standard": (make_pipeline(preprocessing.StandardScaler(), logistic), THREE), "min max": (make_pipeline(preprocessing.MinMaxScaler(), logistic), TWO),
    **{f"norm {norm}": (make_pipeline(preprocessing.Normalizer(norm), logistic), THREE) for norm in ("l1", "l2", "max")},
    "imputer": (make_pipeline(impute.SimpleImputer(), preprocessing.RobustScaler(), svm.SVC(probability=True)), THREE),
    "polynomials": (make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.LinearRegression()), NUMBER),
    "components": (make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2), logistic), THREE), "binarizer": (make_pipeline(preprocessing.Binarizer(), logistic), THREE),
    "bins": (make_pipeline(preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), logistic), THREE),
    "categories": (make_pipeline(preprocessing.OneHotEncoder(handle_unknown="ignore"), logistic), WHOLE), "strict": (make_pipeline(preprocessing.OneHotEncoder(), logistic), WHOLE),
    "ordinal": (make_pipeline(preprocessing.OrdinalEncoder(), tree.DecisionTreeClassifier(max_depth=3)), WHOLE),
}


def check(folder, exported, some):
    """the C of what was exported, for so many rows, with sanitizers"""
    (folder / "m.onnx").write_bytes(exported.SerializeToString())
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    port = session.get_inputs()[0].name
    dnncc.compile_model(folder / "m.onnx", folder, [f"--input={port}={some.shape[0]}x{some.shape[1]}"])
    got = dnncc.run_host(dnncc.build_host(folder, dnncc.SANITIZE), [some])
    for a, b in zip(got, session.run(None, {port: some})):
        b = np.array([list(m.values()) for m in b], np.float32) if isinstance(b, list) else b
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_model(tmp_path, name):
    model, (rows, targets) = MODELS[name]
    check(tmp_path, skl2onnx.to_onnx(model.fit(rows, targets), rows[:1]), rows[::29][:5])


@pytest.mark.parametrize("maker,name", [("lightgbm", "LGBM"), ("xgboost", "XGB")])
@pytest.mark.parametrize("data", [TWO, THREE, NUMBER], ids=["two", "three", "number"])
def test_boosted(tmp_path, maker, name, data):
    tools, package = pytest.importorskip("onnxmltools"), pytest.importorskip(maker)
    from onnxmltools.convert.common.data_types import FloatTensorType
    model = getattr(package, name + ("Regressor" if data is NUMBER else "Classifier"))(n_estimators=5)
    model.fit(*data)
    exported = getattr(tools, f"convert_{maker}")(model, initial_types=[("x", FloatTensorType([None, data[0].shape[1]]))])
    check(tmp_path, exported, data[0][::29][:5])


DOCUMENTS = ["the cat sat on the mat", "a dog ran fast", "Cats and dogs", "the dog sat", "no animals here at all", "fast cars ran"]
ANIMALS = ["cat", "dog", "both", "dog", "none", "none"]
SORTS = np.array([["red", "s"], ["blue", "m"], ["red", "l"], ["green", "s"], ["blue", "l"], ["red", "m"]], object)
words, counts = feature_extraction.text.TfidfVectorizer, feature_extraction.text.CountVectorizer
TEXTS = {
    "tf-idf": (words(), DOCUMENTS), "counts": (counts(), DOCUMENTS), "pattern": (words(token_pattern="[a-zA-Z0-9_]+"), DOCUMENTS), "pairs": (words(ngram_range=(1, 2), token_pattern="[a-zA-Z]+"), DOCUMENTS),
    "stop words": (words(stop_words=["the", "a"], token_pattern="[a-zA-Z]+"), DOCUMENTS), "letters": (words(analyzer="char", ngram_range=(1, 2)), DOCUMENTS),
    "binary": (counts(binary=True, lowercase=False), DOCUMENTS), "one hot": (preprocessing.OneHotEncoder(handle_unknown="ignore"), SORTS), "ordinal": (preprocessing.OrdinalEncoder(), SORTS),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(tmp_path, name):
    first, rows = TEXTS[name]
    model = make_pipeline(first, tree.DecisionTreeClassifier(max_depth=3) if name == "ordinal" else logistic).fit(rows, ANIMALS)
    some = np.array(rows, object).reshape(len(rows), -1)
    exported = skl2onnx.convert_sklearn(model, initial_types=[("x", skl2onnx.common.data_types.StringTensorType([None, some.shape[1]]))], options={id(model): {"zipmap": False}})
    for node in exported.graph.node:                     # onnxruntime has no other locale everywhere
        for attribute in [a for a in node.attribute if a.name == "locale"]:
            attribute.s = b"C.UTF-8"
        if node.op_type == "StringNormalizer" and not any(a.name == "locale" for a in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("locale", "C.UTF-8"))
    (tmp_path / "m.onnx").write_bytes(exported.SerializeToString())
    want = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": some})
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, [f"--input=x={some.shape[0]}x{some.shape[1]}", "--text-bytes=32"])
    label, scores = dnncc.run_host(dnncc.build_host(tmp_path, dnncc.SANITIZE), [some])
    assert label.tolist() == want[0].tolist()
    np.testing.assert_allclose(scores, want[1], rtol=1e-4, atol=1e-5)
